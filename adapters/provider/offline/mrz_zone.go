// The zone of offline.mrz: its lines, fields and check digits.

package offline

import "strings"

// The formats of zones.
const (
	formatTD1   = "TD1"
	formatTD2   = "TD2"
	formatTD3   = "TD3"
	formatIDFRA = "IDFRA" // the French identity card that was issued until 2021
)

// mrz is a zone whose structure is right.
type mrz struct {
	format         string
	code           string
	issuer         string
	number         string
	surname, given string
	surnameCut     nameCut
	givenCut       nameCut
	nationality    string
	birth, expiry  string // YYMMDD; unknown digits are fillers; no expiry in IDFRA
	sex            byte
	wrong          []string // the fields whose check digit is wrong
	repaired       []string // the fields in which a letter was read as a digit
}

// parseMRZ reads a zone. Line breaks and spaces do not matter: the number of
// characters says which format it is. Letters where only digits can stand are read as
// the digits that they look like if then every check digit is right.
func parseMRZ(text string) (mrz, reason) {
	s := compact(text)
	switch {
	case s == "":
		return mrz{}, reasonEmpty
	case strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '<' }):
		return mrz{}, reasonCharacters
	}
	if digits, fields := repairMRZ(s); len(fields) > 0 {
		if z, why := readMRZ(digits); why == "" && len(z.wrong) == 0 {
			z.repaired = fields
			return z, ""
		}
	}
	return readMRZ(s)
}

// readMRZ reads a zone of letters, digits and fillers.
func readMRZ(s string) (z mrz, why reason) {
	switch mrzFormat(s) {
	case formatTD1:
		z = readTD1(s[:30], s[30:60], s[60:])
	case formatTD2:
		z = readTD2(s[:36], s[36:])
	case formatTD3:
		z = readTD3(s[:44], s[44:])
	case formatIDFRA:
		z = readIDFRA(s[:36], s[36:])
	default:
		return mrz{}, reasonLength
	}
	if why := z.problem(); why != "" {
		return mrz{}, why
	}
	z.surname, z.given = unfilled(z.surname), unfilled(z.given)
	z.code, z.issuer, z.nationality = unfilled(z.code), unfilled(z.issuer), unfilled(z.nationality)
	return z, ""
}

// mrzFormat returns the format of a zone; empty if there is none of its length.
func mrzFormat(s string) string {
	switch {
	case len(s) == 90:
		return formatTD1
	case len(s) == 72 && strings.HasPrefix(s, "IDFRA"):
		return formatIDFRA
	case len(s) == 72:
		return formatTD2
	case len(s) == 88:
		return formatTD3
	}
	return ""
}

func (z mrz) problem() reason {
	codes := "ACI"
	if z.format == formatTD3 {
		codes = "P"
	}
	switch {
	case strings.IndexByte(codes, z.code[0]) < 0:
		return "document_code"
	case strings.ContainsFunc(z.surname+z.given+z.issuer+z.nationality, isDigit), strings.IndexByte("MFX<", z.sex) < 0:
		return reasonStructure
	case strings.ContainsFunc(z.birth+z.expiry, isLetter), strings.Contains(z.expiry, "<") && !z.undated():
		return reasonDate
	}
	return ""
}

// undated reports whether the zone is of a card without a date of expiry. A passport
// always has one.
func (z mrz) undated() bool { return z.expiry == "<<<<<<" && z.format != formatTD3 }

func readTD1(first, second, third string) mrz {
	z := mrz{
		format: formatTD1, code: first[:2], issuer: first[2:5],
		birth: second[:6], sex: second[7], expiry: second[8:14], nationality: second[15:18],
	}
	if z.code == "ID" && z.issuer == "MEX" {
		z.sex = mexicanSex(z.sex)
	}
	z.readNames(third)
	z.readNumber(first[5:14], first[14], first[15:30])
	z.verify("birth_date", second[6], z.birth)
	z.verify("expiry_date", second[14], z.expiry)
	z.verify("composite", second[29], first[5:30], second[:7], second[8:15], second[18:29])
	return z
}

func readTD2(first, second string) mrz {
	z := readSecondLine(formatTD2, first, second)
	z.readNumber(second[:9], second[9], second[28:35])
	z.verifyDates(second)
	z.verify("composite", second[35], second[:10], second[13:20], second[21:35])
	return z
}

func readTD3(first, second string) mrz {
	z := readSecondLine(formatTD3, first, second)
	z.readNumber(second[:9], second[9], "")
	z.verifyDates(second)
	if personal := second[28:42]; unfilled(personal) != "" || second[42] != '<' {
		z.verify("personal_number", second[42], personal)
	}
	z.verify("composite", second[43], second[:10], second[13:20], second[21:43])
	return z
}

// readSecondLine reads what TD2 and TD3 have in the same positions.
func readSecondLine(format, first, second string) mrz {
	z := mrz{
		format: format, code: first[:2], issuer: first[2:5],
		nationality: second[10:13], birth: second[13:19], sex: second[20], expiry: second[21:27],
	}
	z.readNames(first[5:])
	return z
}

// readIDFRA reads the zone of the French identity card. The last six characters of its
// first line are the office that issued it. Only French citizens have one.
func readIDFRA(first, second string) mrz {
	z := mrz{
		format: formatIDFRA, code: first[:2], issuer: first[2:5], nationality: first[2:5],
		number: second[:12], surname: first[5:30], given: second[13:27], birth: second[27:33], sex: second[34],
	}
	z.surnameCut, z.givenCut = nameCut{end: isFull(z.surname)}, nameCut{end: isFull(z.given)}
	z.verify("document_number", second[12], z.number)
	z.verify("birth_date", second[33], z.birth)
	z.verify("composite", second[35], first, second[:35])
	return z
}

// mexicanSex returns the sex of a Mexican voter's card as other zones write it. The card has
// H for hombre, M for mujer, or X.
func mexicanSex(letter byte) byte {
	switch letter {
	case 'H':
		return 'M'
	case 'M':
		return 'F'
	}
	return letter
}

// readNames reads the field that has both the surname and the given names. If it is full,
// names may be cut.
func (z *mrz) readNames(field string) {
	z.surname, z.given, _ = strings.Cut(field, "<<")
	z.givenCut = nameCut{words: isFull(field), end: isFull(field)}
	z.surnameCut = nameCut{words: isFull(field), end: isFull(field) && unfilled(z.given) == ""}
}

// isFull reports whether a field of names ends in a letter.
func isFull(field string) bool { return !strings.HasSuffix(field, "<") }

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
