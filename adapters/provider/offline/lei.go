// offline.lei: the Legal Entity Identifier.

package offline

import "time"

type leiWith struct {
	LEI string `json:"lei"`
}

// The structure is that of ISO 17442-1: 18 letters and digits, of which the first
// four are the prefix of the issuing organization, and two check digits by ISO/IEC
// 7064 MOD 97-10.
func leiDescription() description {
	return description{
		summary:  "The structure and the check digits of a Legal Entity Identifier (LEI, ISO 17442).",
		required: []string{"lei"},
		with:     `{"lei": {"type": "string", "title": "LEI"}}`,
		data: `{
			"lei": {"type": "string", "title": "LEI"},
			"issuer_prefix": {"type": "string", "title": "Prefix of the issuing organization"}
		}`,
	}
}

func judgeLEI(w leiWith, _ time.Time) (map[string]any, reason, error) {
	lei := compact(w.LEI)
	if why := structured(lei, "XXXXXXXXXXXXXXXXXX99"); why != "" {
		return nil, why, nil
	}
	data := map[string]any{"lei": lei, "issuer_prefix": lei[:4]}
	if mod97(lei) != 1 {
		return data, reasonCheckDigit, nil
	}
	return data, "", nil
}
