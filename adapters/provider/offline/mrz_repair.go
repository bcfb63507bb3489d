// Letters that a reader of a machine readable zone takes for digits.

package offline

import "strings"

// mrzField is a range of positions of a zone, from 0, in which only digits and fillers
// can stand. A check digit belongs to its field.
type mrzField struct {
	name     string
	from, to int
}

// digitsOf returns where a format has only digits and fillers.
func digitsOf(format string) []mrzField {
	return map[string][]mrzField{
		formatTD1:   {{"document_number", 14, 15}, {"birth_date", 30, 37}, {"expiry_date", 38, 45}, {"composite", 59, 60}},
		formatTD2:   {{"document_number", 45, 46}, {"birth_date", 49, 56}, {"expiry_date", 57, 64}, {"composite", 71, 72}},
		formatTD3:   {{"document_number", 53, 54}, {"birth_date", 57, 64}, {"expiry_date", 65, 72}, {"personal_number", 86, 87}, {"composite", 87, 88}},
		formatIDFRA: {{"document_number", 36, 40}, {"document_number", 43, 49}, {"birth_date", 63, 70}, {"composite", 71, 72}},
	}[format]
}

// repairMRZ returns a zone with digits in place of the letters that look like them where
// only digits can stand, and the fields that it changed. The pairs are those that a check
// digit tells apart; G and 6, or L and 1, have the same.
func repairMRZ(s string) (repaired string, fields []string) {
	digits := strings.NewReplacer("O", "0", "I", "1", "Z", "2", "S", "5", "B", "8")
	repaired = s
	for _, f := range digitsOf(mrzFormat(s)) {
		field := digits.Replace(s[f.from:f.to])
		if field == s[f.from:f.to] {
			continue
		}
		repaired = repaired[:f.from] + field + repaired[f.to:]
		if len(fields) == 0 || fields[len(fields)-1] != f.name {
			fields = append(fields, f.name)
		}
	}
	return repaired, fields
}
