// Names as words.

package labels

import "strings"

// InWords returns the name of a field as words: date_of_birth is Date of birth, and id_number is ID
// number. A name with other characters than lower-case letters, digits and underscores stays as it is.
func InWords(name string) string {
	words := strings.Fields(strings.ReplaceAll(name, "_", " "))
	if len(words) == 0 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) {
		return name
	}
	for i, w := range words {
		switch w {
		case "id", "pan", "iban", "ip", "url", "vat", "gstin", "cin":
			words[i] = strings.ToUpper(w)
		default:
			if i == 0 {
				words[i] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
	}
	return strings.Join(words, " ")
}
