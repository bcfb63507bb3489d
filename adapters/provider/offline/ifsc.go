// offline.ifsc: the Indian Financial System Code of a bank branch.

package offline

import "time"

type ifscWith struct {
	Code string `json:"code"`
}

// judgeIFSC judges by the structure that the Reserve Bank of India defines: four letters for the
// bank, a zero, and six letters or digits for the branch.
func judgeIFSC(w ifscWith, _ time.Time) (map[string]any, reason, error) {
	code := compact(w.Code)
	if why := structured(code, "AAAA0XXXXXX"); why != "" {
		return nil, why, nil
	}
	return map[string]any{"code": code, "bank_code": code[:4], "branch_code": code[5:]}, "", nil
}
