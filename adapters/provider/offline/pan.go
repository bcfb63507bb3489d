// offline.pan: the Permanent Account Number of India.

package offline

import (
	"slices"
	"time"
)

type panWith struct {
	Number      string   `json:"number"`
	HolderTypes []string `json:"holder_types"`
}

// The structure is that of the Income Tax Department: three letters, the type of the
// holder, the first letter of the holder's name, four digits, and a check letter
// whose algorithm is not published.
func panDescription() description {
	return description{
		summary:  "The structure of a Permanent Account Number (PAN) of India, and its type of holder.",
		required: []string{"number"},
		with: `{
			"number": {"type": "string", "title": "PAN"},
			"holder_types": {"type": "array", "title": "Accepted types of holder", "minItems": 1, "items": {"type": "string", "enum": ` + panHolderTypes + `}}
		}`,
		data: `{
			"number": {"type": "string", "title": "PAN"},
			"holder_type": {"type": "string", "title": "Type of holder", "enum": ` + panHolderTypes + `},
			"name_initial": {"type": "string", "title": "First letter of the surname or name"}
		}`,
	}
}

const panHolderTypes = `["association_of_persons", "body_of_individuals", "company", "limited_liability_partnership", "firm",
	"government", "hindu_undivided_family", "artificial_juridical_person", "local_authority", "individual", "trust"]`

// panHolderType returns the type of holder of the fourth letter; empty if the letter
// has none.
func panHolderType(letter byte) string {
	switch letter {
	case 'A':
		return "association_of_persons"
	case 'B':
		return "body_of_individuals"
	case 'C':
		return "company"
	case 'E':
		return "limited_liability_partnership"
	case 'F':
		return "firm"
	case 'G':
		return "government"
	case 'H':
		return "hindu_undivided_family"
	case 'J':
		return "artificial_juridical_person"
	case 'L':
		return "local_authority"
	case 'P':
		return "individual"
	case 'T':
		return "trust"
	}
	return ""
}

func judgePAN(w panWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	if why := panProblem(number); why != "" {
		return nil, why, nil
	}
	holder := panHolderType(number[3])
	data := map[string]any{"number": number, "holder_type": holder, "name_initial": number[4:5]}
	if len(w.HolderTypes) > 0 && !slices.Contains(w.HolderTypes, holder) {
		return data, "holder_type", nil
	}
	return data, "", nil
}

// panProblem returns why a number is not a PAN.
func panProblem(number string) reason {
	if why := structured(number, "AAAAA9999A"); why != "" {
		return why
	}
	if panHolderType(number[3]) == "" || number[5:9] == "0000" {
		return reasonStructure
	}
	return ""
}
