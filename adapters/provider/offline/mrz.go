// offline.mrz: the machine readable zone of a travel document.

package offline

import (
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/country"
)

// mrzWith has the zone and what the customer gave; an empty field is not compared.
type mrzWith struct {
	MRZ            string `json:"mrz"`
	DocumentNumber string `json:"document_number"`
	Surname        string `json:"surname"`
	GivenNames     string `json:"given_names"`
	BirthDate      string `json:"birth_date"`
	ExpiryDate     string `json:"expiry_date"`
	Sex            string `json:"sex"`
	Nationality    string `json:"nationality"`
	IssuingState   string `json:"issuing_state"`
}

// newMRZJudge reads the table of dates that mean no end. The rules are those of ICAO Doc
// 9303, eighth edition: part 4 for passports (TD3), part 5 for cards (TD1), part 6 for
// larger cards (TD2), part 3 for what they share; and of the French identity card.
func newMRZJudge() judge[mrzWith] {
	endless := readEndless()
	return func(w mrzWith, today time.Time) (map[string]any, reason, error) { return judgeMRZ(w, today, endless) }
}

func judgeMRZ(w mrzWith, today time.Time, endless map[string]bool) (map[string]any, reason, error) {
	z, why := parseMRZ(w.MRZ)
	if why != "" {
		return nil, why, nil
	}
	birth, birthOK := z.birthDate(today, w.BirthDate)
	expiry, expiryOK := z.expires(today, birth, endless)
	data := map[string]any{
		"format": z.format, "document_code": z.code, "issuing_state": z.issuer, "document_number": z.number,
		"surname": z.surname, "given_names": z.given, "nationality": z.nationality, "sex": z.sexWord(),
		"expires": expiry.how,
	}
	if !birth.IsZero() {
		data["birth_date"] = birth.Format(time.DateOnly)
	}
	if !expiry.date.IsZero() {
		data["expiry_date"] = expiry.date.Format(time.DateOnly)
	}
	if len(z.repaired) > 0 {
		data["repaired"] = z.repaired
	}
	if len(z.wrong) > 0 {
		data["wrong_check_digits"] = z.wrong
	}
	differ := differences(z, w, expiry)
	if len(differ) > 0 {
		data["differences"] = differ
	}
	switch {
	case len(z.wrong) > 0:
		return data, reasonCheckDigit, nil
	case !birthOK || !expiryOK:
		return data, reasonDate, nil
	case expiry.how != expiresNever && expiry.date.Before(today):
		return data, "expired", nil
	case len(differ) > 0:
		return data, "differs", nil
	}
	return data, "", nil
}

// sexWord returns the sex in words.
func (z mrz) sexWord() string {
	switch z.sex {
	case 'F':
		return "female"
	case 'M':
		return "male"
	}
	return "unspecified"
}

// birthDate returns the date of birth, in the latest century in which it is not after
// date, unless the customer gave it in another one. It is zero if a part of it is
// unknown. ok is false if there is no such date.
func (z mrz) birthDate(date time.Time, given string) (birth time.Time, ok bool) {
	if strings.Contains(z.birth, "<") {
		return time.Time{}, true
	}
	birth, ok = z.date(z.birth, date)
	if said, why := parseBirth(given); why == "" && ok && !birthdate.Agree(said, birth.Format(time.DateOnly)) {
		earlier := birth.AddDate(-100, 0, 0)
		if text := earlier.Format(time.DateOnly); birthdate.Agree(said, text) && birthdate.Plausible(text, date) {
			return earlier, true
		}
	}
	return birth, ok
}

// date parses YYMMDD in the latest century in which it is not after a limit.
func (z mrz) date(s string, limit time.Time) (time.Time, bool) {
	for century := limit.Year() / 100; century > limit.Year()/100-2; century-- {
		d, err := time.Parse("20060102", strconv.Itoa(century)+s)
		if err == nil && !d.After(limit) {
			return d, true
		}
	}
	return time.Time{}, false
}

// differences returns the keys of with whose values differ from the zone.
func differences(z mrz, w mrzWith, expiry mrzExpiry) []string {
	var keys []string
	surname, given := z.sameNames(w.Surname, w.GivenNames)
	compare := func(key, given string, same func(string) bool) {
		if strings.TrimSpace(given) != "" && !same(given) {
			keys = append(keys, key)
		}
	}
	compare("birth_date", w.BirthDate, func(given string) bool {
		date, why := parseBirth(given)
		return why == "" && matchesDate(strings.ReplaceAll(date[2:], "-", ""), z.birth)
	})
	compare("document_number", w.DocumentNumber, func(given string) bool { return plainNumber(given) == plainNumber(z.number) })
	compare("expiry_date", w.ExpiryDate, func(given string) bool {
		d, why := parseDate(given)
		return why == "" && expiry.is(d)
	})
	compare("given_names", w.GivenNames, func(string) bool { return given })
	compare("issuing_state", w.IssuingState, func(given string) bool { return sameState(given, z.issuer) })
	compare("nationality", w.Nationality, func(given string) bool { return sameNationality(given, z.nationality) })
	compare("sex", w.Sex, z.isSex)
	compare("surname", w.Surname, func(string) bool { return surname })
	return keys
}

// isSex reports whether a sex that the customer gave, as a letter or a word, can be the one
// of the zone. A zone that leaves it open, as those of German cards always do, contradicts
// nobody.
func (z mrz) isSex(given string) bool {
	return z.sexWord() == "unspecified" || strings.ToLower(strings.TrimSpace(given))[:1] == z.sexWord()[:1]
}

// matchesDate reports whether a date, as YYMMDD, is the one of a zone, in which
// unknown digits are fillers.
func matchesDate(date, zone string) bool {
	for i := range len(date) {
		if zone[i] != '<' && zone[i] != date[i] {
			return false
		}
	}
	return true
}

// plainNumber returns the letters and digits of a document number.
func plainNumber(s string) string {
	return strings.Map(func(r rune) rune {
		if isLetter(r) || isDigit(r) {
			return r
		}
		return -1
	}, compact(s))
}

// sameState reports whether a text that the customer gave, a code or a name, means a state
// of a zone.
func sameState(given, state string) bool {
	a, known := country.Parse(given)
	b, _ := country.Parse(state)
	return compact(given) == state || known && a != "" && a == b
}

// sameNationality is sameState for the nationality of a zone. Documents for refugees, and of
// organizations, have a code that does not say the nationality, which then contradicts
// nobody. XXA says that there is none.
func sameNationality(given, state string) bool {
	of, known := country.Parse(state)
	if !known || of != "" || state == "UTO" { // the state of specimens
		return sameState(given, state)
	}
	stated, known := country.Parse(given)
	return state != "XXA" || known && stated == ""
}
