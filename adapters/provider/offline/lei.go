// offline.lei: the Legal Entity Identifier.

package offline

import "time"

type leiWith struct {
	LEI string `json:"lei"`
}

// judgeLEI judges by ISO 17442-1: 18 letters and digits, of which the first four are the
// prefix of the issuing organization, and two check digits by ISO/IEC 7064 MOD 97-10.
func judgeLEI(w leiWith, _ time.Time) (map[string]any, reason, error) {
	lei := compact(w.LEI)
	if why := structured(lei, "XXXXXXXXXXXXXXXXXX99"); why != "" {
		return nil, why, nil
	}
	data := map[string]any{"lei": lei, "issuer_prefix": lei[:4]}
	if !mod97(lei[:18], lei[18:]) {
		return data, reasonCheckDigit, nil
	}
	return data, "", nil
}
