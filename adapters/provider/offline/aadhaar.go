// offline.aadhaar: the Aadhaar number of a resident of India.

package offline

import "time"

type aadhaarWith struct {
	Number string `json:"number"`
}

// judgeAadhaar judges by the rules of the Unique Identification Authority of India:
// twelve digits, the first from 2 to 9, the last a check digit by Verhoeff's algorithm. A
// number that reads the same backwards is not issued.
func judgeAadhaar(w aadhaarWith, _ time.Time) (map[string]any, reason, error) {
	number := compact(w.Number)
	if why := structured(number, "999999999999"); why != "" {
		return nil, why, nil
	}
	data := map[string]any{"number": masked(number)}
	switch {
	case number[0] < '2', isPalindrome(number):
		return data, reasonStructure, nil
	case !verhoeff(number):
		return data, reasonCheckDigit, nil
	}
	return data, "", nil
}

// isPalindrome reports whether digits read the same backwards.
func isPalindrome(digits string) bool {
	for i := range len(digits) / 2 {
		if digits[i] != digits[len(digits)-1-i] {
			return false
		}
	}
	return true
}
