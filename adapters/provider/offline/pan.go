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

// panHolderType returns the type of holder of the fourth letter; empty if the letter
// has none.
func panHolderType(letter byte) string {
	return map[byte]string{
		'A': "association_of_persons", 'B': "body_of_individuals", 'C': "company", 'E': "limited_liability_partnership",
		'F': "firm", 'G': "government", 'H': "hindu_undivided_family", 'J': "artificial_juridical_person",
		'L': "local_authority", 'P': "individual", 'T': "trust",
	}[letter]
}

// judgePAN judges by the structure of the Income Tax Department: three letters, the type
// of the holder, the first letter of the holder's name, four digits, and a check letter
// whose algorithm is not published.
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
