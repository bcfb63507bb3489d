// The zone of offline.mrz: its lines, fields and check digits.

package offline

import "strings"

// mrzDate is the layout of a date in a zone.
const mrzDate = "060102"

// mrz is a zone whose structure is right.
type mrz struct {
	format         string // TD1, TD2 or TD3
	code           string
	issuer         string
	number         string
	surname, given string
	truncated      bool // the names fill their field, so they may be cut off
	nationality    string
	birth, expiry  string // YYMMDD; unknown digits are fillers
	sex            byte
	wrong          []string // the fields whose check digit is wrong
}

// parseMRZ reads a zone. Line breaks and spaces do not matter: the number of
// characters says which format it is.
func parseMRZ(text string) (mrz, reason) {
	s := compact(text)
	switch {
	case s == "":
		return mrz{}, reasonEmpty
	case strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '<' }):
		return mrz{}, reasonCharacters
	}
	var z mrz
	var names string
	switch len(s) {
	case 90:
		z, names = parseTD1(s[:30], s[30:60], s[60:])
	case 72:
		z, names = parseTD2(s[:36], s[36:])
	case 88:
		z, names = parseTD3(s[:44], s[44:])
	default:
		return mrz{}, reasonLength
	}
	if why := z.problem(names); why != "" {
		return mrz{}, why
	}
	surname, given, _ := strings.Cut(names, "<<")
	z.surname, z.given = unfilled(surname), unfilled(given)
	z.truncated = !strings.HasSuffix(names, "<")
	z.code, z.issuer, z.nationality = unfilled(z.code), unfilled(z.issuer), unfilled(z.nationality)
	return z, ""
}

func (z mrz) problem(names string) reason {
	codes := "ACI"
	if z.format == "TD3" {
		codes = "P"
	}
	switch {
	case strings.IndexByte(codes, z.code[0]) < 0:
		return "document_code"
	case strings.ContainsFunc(names+z.issuer+z.nationality, isDigit), strings.IndexByte("MFX<", z.sex) < 0:
		return reasonStructure
	case strings.ContainsFunc(z.birth+z.expiry, isLetter), strings.Contains(z.expiry, "<"):
		return reasonDate
	}
	return ""
}

func parseTD1(first, second, third string) (z mrz, names string) {
	z = mrz{
		format: "TD1", code: first[:2], issuer: first[2:5],
		birth: second[:6], sex: second[7], expiry: second[8:14], nationality: second[15:18],
	}
	z.readNumber(first[5:14], first[14], first[15:30])
	z.verify("birth_date", second[6], z.birth)
	z.verify("expiry_date", second[14], z.expiry)
	z.verify("composite", second[29], first[5:30], second[:7], second[8:15], second[18:29])
	return z, third
}

func parseTD2(first, second string) (z mrz, names string) {
	z = parseSecondLine("TD2", first, second)
	z.readNumber(second[:9], second[9], second[28:35])
	z.verifyDates(second)
	z.verify("composite", second[35], second[:10], second[13:20], second[21:35])
	return z, first[5:]
}

func parseTD3(first, second string) (z mrz, names string) {
	z = parseSecondLine("TD3", first, second)
	z.readNumber(second[:9], second[9], "")
	z.verifyDates(second)
	if personal := second[28:42]; unfilled(personal) != "" || second[42] != '<' {
		z.verify("personal_number", second[42], personal)
	}
	z.verify("composite", second[43], second[:10], second[13:20], second[21:43])
	return z, first[5:]
}

// parseSecondLine reads what TD2 and TD3 have in the same positions.
func parseSecondLine(format, first, second string) mrz {
	return mrz{
		format: format, code: first[:2], issuer: first[2:5],
		nationality: second[10:13], birth: second[13:19], sex: second[20], expiry: second[21:27],
	}
}

func (z *mrz) verifyDates(second string) {
	z.verify("birth_date", second[19], z.birth)
	z.verify("expiry_date", second[27], z.expiry)
}

// readNumber reads the document number. If it has more than nine characters, its
// check digit is a filler, and the rest of it and the check digit are in the optional
// data. The standard does not say whether that filler counts as a character of the
// number, and issuers do both.
func (z *mrz) readNumber(field string, digit byte, optional string) {
	rest, _, _ := strings.Cut(optional, "<")
	if digit != '<' || len(rest) < 2 {
		z.number = unfilled(field)
		z.verify("document_number", digit, field)
		return
	}
	digit, rest = rest[len(rest)-1], rest[:len(rest)-1]
	z.number = unfilled(field) + rest
	if digit != icao(field, "<", rest) {
		z.verify("document_number", digit, field, rest)
	}
}

func (z *mrz) verify(field string, digit byte, parts ...string) {
	if digit != icao(parts...) {
		z.wrong = append(z.wrong, field)
	}
}

// unfilled returns a field with spaces instead of the fillers between its words.
func unfilled(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '<' }), " ")
}
