// The check digit algorithms that several numbers share.

package offline

import (
	"fmt"
	"strings"
)

// mod97 reports whether two check digits are those that ISO/IEC 7064 MOD 97-10
// computes of letters and digits, in which A is 10 and Z is 35. They are 02 to 98.
func mod97(s, digits string) bool {
	sum := 0
	for _, r := range s {
		if isDigit(r) {
			sum = (sum*10 + int(r-'0')) % 97
		} else {
			sum = (sum*100 + int(r-'A') + 10) % 97
		}
	}
	return digits == fmt.Sprintf("%02d", 98-sum*100%97)
}

// luhn reports whether the last digit is correct by the algorithm of ISO/IEC 7812-1,
// annex B.
func luhn(digits string) bool { return luhnSum(digits)%10 == 0 }

// luhnSum adds the digits, of which every second one from the right is doubled.
func luhnSum(digits string) int {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum
}

// verhoeff reports whether the last digit is correct by Verhoeff's algorithm, which
// finds every wrong digit and every swap of neighbours.
func verhoeff(digits string) bool {
	c := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		for range i % 8 {
			d = int("1576283094"[d] - '0') // the permutation of the algorithm, applied once for each position
		}
		c = dihedral(c, d)
	}
	return c == 0
}

// dihedral multiplies two elements of the dihedral group of order 10: 0 to 4 are
// rotations, 5 to 9 reflections.
func dihedral(a, b int) int {
	switch {
	case a < 5 && b < 5:
		return (a + b) % 5
	case a < 5:
		return 5 + (a+b)%5
	case b < 5:
		return 5 + (a-b)%5
	default:
		return (a - b + 5) % 5
	}
}

// mod36 returns the check character of the digits and letters of a GSTIN. The
// factors alternate between 1 and 2, and the digits of each product in base 36 are
// added.
func mod36(s string) byte {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sum := 0
	for i := range len(s) {
		product := strings.IndexByte(alphabet, s[i]) * (1 + i%2)
		sum += product/36 + product%36
	}
	return alphabet[(36-sum%36)%36]
}

// icao returns the check digit of Doc 9303-3, section 4.9: weights 7, 3, 1, with A
// as 10, Z as 35 and the filler as 0.
func icao(parts ...string) byte {
	sum, i := 0, 0
	for _, part := range parts {
		for _, r := range part {
			value := 0
			switch {
			case isDigit(r):
				value = int(r - '0')
			case isLetter(r):
				value = int(r-'A') + 10
			}
			sum += value * [...]int{7, 3, 1}[i%3]
			i++
		}
	}
	return byte('0' + sum%10)
}
