// offline.phone: a telephone number.

package offline

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"

	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/verification"
)

type phoneWith struct {
	Number  string   `json:"number"`
	Region  string   `json:"region"`
	Regions []string `json:"regions"`
	Types   []string `json:"types"`
}

func newPhoneJudge() judge[phoneWith] {
	regions := phonenumbers.GetSupportedRegions()
	// region returns the region of a country; a text that is none, which only a template can
	// give, has none. Some regions are no countries, such as AC.
	region := func(text string) string {
		if code := compact(text); regions[code] {
			return code
		}
		code, _ := country.Alpha2(text)
		return code
	}
	return func(w phoneWith, _ time.Time) (map[string]any, reason, error) {
		w.Region = region(w.Region)
		for i, text := range w.Regions {
			w.Regions[i] = region(text)
		}
		return judgePhone(w)
	}
}

// judgePhone judges by the numbering plans of Google's libphonenumber.
func judgePhone(w phoneWith) (map[string]any, reason, error) {
	text, ok := verification.CleanPhone(w.Number)
	if !ok { // the library also reads extensions and names their faults
		text = strings.TrimSpace(fold(w.Number))
	}
	if text == "" {
		return nil, reasonEmpty, nil
	}
	number, err := phonenumbers.Parse(text, w.Region)
	if why := unreadable(err); why != "" {
		return nil, why, nil
	}
	region, kind := phonenumbers.GetRegionCodeForNumber(number), phoneType(phonenumbers.GetNumberType(number))
	data := map[string]any{
		"number":        phonenumbers.Format(number, phonenumbers.E164),
		"international": phonenumbers.Format(number, phonenumbers.INTERNATIONAL),
		"calling_code":  "+" + strconv.Itoa(int(number.GetCountryCode())),
		"possible":      phonenumbers.IsPossibleNumber(number),
	}
	if region != "" {
		data["region"] = region
	}
	if kind != "" {
		data["type"] = kind
	}
	switch {
	case !phonenumbers.IsPossibleNumber(number):
		return data, reasonLength, nil
	case !phonenumbers.IsValidNumber(number):
		return data, "unassigned", nil
	case len(w.Regions) > 0 && (region == "" || !slices.Contains(w.Regions, region)):
		return data, reasonCountry, nil
	case !w.accepts(kind):
		return data, "type", nil
	}
	return data, "", nil
}

// unreadable returns why a text is not a number, by the error of its parser.
func unreadable(err error) reason {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode):
		return reasonCountry
	case errors.Is(err, phonenumbers.ErrTooShortNSN), errors.Is(err, phonenumbers.ErrTooShortAfterIDD), errors.Is(err, phonenumbers.ErrNumTooLong):
		return reasonLength
	}
	return reasonCharacters
}

// accepts reports whether the list of types has a type. In some countries mobile and
// fixed lines share their numbers; such a number is accepted as either.
func (w phoneWith) accepts(kind string) bool {
	return len(w.Types) == 0 || slices.Contains(w.Types, kind) ||
		kind == "fixed_line_or_mobile" && (slices.Contains(w.Types, "mobile") || slices.Contains(w.Types, "fixed_line"))
}

// phoneType returns the name of a type; empty if it is not known.
func phoneType(t phonenumbers.PhoneNumberType) string {
	return map[phonenumbers.PhoneNumberType]string{
		phonenumbers.MOBILE: "mobile", phonenumbers.FIXED_LINE: "fixed_line", phonenumbers.FIXED_LINE_OR_MOBILE: "fixed_line_or_mobile",
		phonenumbers.TOLL_FREE: "toll_free", phonenumbers.PREMIUM_RATE: "premium_rate", phonenumbers.SHARED_COST: "shared_cost",
		phonenumbers.VOIP: "voip", phonenumbers.PERSONAL_NUMBER: "personal_number", phonenumbers.PAGER: "pager",
		phonenumbers.UAN: "company_number", phonenumbers.VOICEMAIL: "voicemail",
	}[t]
}
