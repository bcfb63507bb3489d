// offline.tan: the Tax Deduction and Collection Account Number of India.

package offline

import "time"

type tanWith struct {
	Number string `json:"number"`
}

// tanPattern is the structure of the Income Tax Department: three letters for the area, the
// first letter of the holder's name, five digits, and a check letter whose algorithm is not
// published.
const tanPattern = "AAAA99999A"

func judgeTAN(w tanWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	if why := structured(number, tanPattern); why != "" {
		return nil, why, nil
	}
	return map[string]any{"number": number, "area_code": number[:3], "name_initial": number[3:4]}, "", nil
}
