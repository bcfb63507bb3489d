// offline.bic: the Business Identifier Code of a bank or another institution.

package offline

import (
	"time"

	"github.com/verifyd/verifyd/internal/country"
)

type bicWith struct {
	BIC       string   `json:"bic"`
	Countries []string `json:"countries"`
}

// judgeBIC judges by ISO 9362:2022: a prefix of four letters or digits, a country of
// ISO 3166-1, a suffix of two, and for a branch three more.
func judgeBIC(w bicWith, _ time.Time) (map[string]any, reason, error) {
	bic := compact(w.BIC)
	pattern := "XXXXAAXX"
	if len(bic) > len(pattern) {
		pattern += "XXX"
	}
	if why := structured(bic, pattern); why != "" {
		return nil, why, nil
	}
	code, branch := bic[4:6], "XXX"
	if len(bic) == 11 {
		branch = bic[8:]
	}
	data := map[string]any{
		"bic": bic, "institution_code": bic[:4], "country": code, "branch_code": branch, "test": bic[7] == '0',
	}
	if !country.IsAlpha2(code) || !accepted(w.Countries, code) {
		return data, reasonCountry, nil
	}
	return data, "", nil
}
