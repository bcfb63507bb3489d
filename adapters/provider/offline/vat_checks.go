// The check digits of VAT identification numbers.

package offline

import (
	"strconv"
	"strings"
)

// vatCheck reports whether the check digits of a number without its prefix are right.
// The number has the structure of the pattern beside the check.
type vatCheck func(number string) bool

// readVATCheck reads a check of the table.
func readVATCheck(prefix, text string) vatCheck {
	var checks []vatCheck
	for condition := range strings.SplitSeq(text, " and ") {
		checks = append(checks, readVATCondition(prefix, strings.Fields(condition)))
	}
	return func(number string) bool {
		for _, check := range checks {
			if !check(number) {
				return false
			}
		}
		return true
	}
}

func readVATCondition(prefix string, words []string) vatCheck {
	switch words[0] {
	case "sum":
		return readVATSum(words[1:])
	case "luhn":
		return func(number string) bool {
			return luhn(number[:vatInts(append(words[1:], strconv.Itoa(len(number))))[0]])
		}
	case "mod97":
		return func(number string) bool {
			last := len(number) - 2
			return mod97(prefix+number[:last], number[last:])
		}
	}
	return map[string]vatCheck{
		"none": func(string) bool { return true }, "iso7064": iso7064, "at": vatAustria, "cy": vatCyprus,
		"es_company": vatSpanishCompany, "es_person": vatSpanishPerson, "fr": vatFrance, "ie": vatIreland, "siren": vatSIREN,
	}[words[0]]
}

// readVATSum reads weights, mod, a modulus, and maybe = and a remainder.
func readVATSum(words []string) vatCheck {
	text, rest, _ := strings.Cut(strings.Join(words, " "), " mod ")
	weights := vatInts(strings.Fields(text))
	modulus, remainder, _ := strings.Cut(rest, " = ")
	want := vatInts([]string{modulus, "0" + remainder})
	return func(number string) bool {
		digits, sum := vatDigits(number), 0
		for i, w := range weights[max(0, len(weights)-len(digits)):] {
			sum += w * digits[i]
		}
		return ((sum%want[0])+want[0])%want[0] == want[1]
	}
}

func vatInts(words []string) (numbers []int) {
	for _, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil {
			panic("offline: the table of VAT numbers has " + w)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// vatDigits returns the values of the digits of a number.
func vatDigits(number string) (digits []int) {
	for _, r := range number {
		if isDigit(r) {
			digits = append(digits, int(r-'0'))
		}
	}
	return digits
}

// iso7064 reports whether the last digit is correct by ISO/IEC 7064 MOD 11,10.
func iso7064(number string) bool {
	check := 10
	for _, d := range vatDigits(number[:len(number)-1]) {
		if check = (check + d) % 10; check == 0 {
			check = 10
		}
		check = check * 2 % 11
	}
	return (check+int(number[len(number)-1]-'0'))%10 == 1
}

// vatAustria adds 4 to the sum of Luhn's algorithm of the first seven digits.
func vatAustria(number string) bool {
	check := byte('0' + (16-luhnSum(number[1:8])%10)%10)
	return number[8] == check
}

// vatCyprus replaces the digits in odd positions and takes the remainder of 26 for a letter.
func vatCyprus(number string) bool {
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21}
	sum := 0
	for i, d := range vatDigits(number) {
		if i%2 == 0 {
			d = odd[d]
		}
		sum += d
	}
	return number[8] == byte('A'+sum%26)
}

// vatSpanishPerson takes the remainder of 23 for the letter. The first letter of foreigners
// stands for a digit; the one of K, L and M does not count.
func vatSpanishPerson(number string) bool {
	digits := strings.NewReplacer("K", "", "L", "", "M", "", "X", "0", "Y", "1", "Z", "2").Replace(number[:8])
	n, err := strconv.Atoi(digits)
	return err == nil && number[8] == "TRWAGMYFPDXBNJZSQVHLCKE"[n%23]
}

// vatSpanishCompany takes the check digit of Luhn's algorithm, or its letter.
func vatSpanishCompany(number string) bool {
	check := number[8:]
	if isLetter(rune(check[0])) {
		check = strconv.Itoa(int(check[0]-'A'+1) % 10)
	}
	return luhn(number[1:8] + check)
}

// vatFrance judges a key with letters, which has no I and no O.
func vatFrance(number string) bool {
	const alphabet = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	first, second := strings.IndexByte(alphabet, number[0]), strings.IndexByte(alphabet, number[1])
	key := first*24 + second - 10
	if first > 9 {
		key = first*34 + second - 100
	}
	siren, err := strconv.Atoi(number[2:])
	return err == nil && (siren+1+key/11)%11 == key%11
}

// vatSIREN judges the number of a French company after the key by Luhn's algorithm. Those
// of Monaco, which begin with 000, have no check digit.
func vatSIREN(number string) bool {
	return strings.HasPrefix(number[2:], "000") || luhn(number[2:])
}

// vatIreland takes the remainder of 23 for the letter, with W as 0. In numbers from before
// 2013 a letter or a sign may be in the second position, and the first digit then counts as the last.
// A second letter at the end counts nine times.
func vatIreland(number string) bool {
	digits, extra := number[:7], 0
	if !isDigit(rune(number[1])) {
		digits = "0" + number[2:7] + number[:1]
	}
	if len(number) == 9 && number[8] != 'W' {
		extra = 9 * int(number[8]-'A'+1)
	}
	sum := extra
	for i, d := range vatDigits(digits) {
		sum += d * (8 - i)
	}
	return number[7] == "WABCDEFGHIJKLMNOPQRSTUV"[sum%23]
}
