// offline.phone: a telephone number.

package offline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

type phoneWith struct {
	Number  string   `json:"number"`
	Region  string   `json:"region"`
	Regions []string `json:"regions"`
	Types   []string `json:"types"`
}

// judgePhone judges by the numbering plans of Google's libphonenumber.
func judgePhone(w phoneWith, _ time.Time) (map[string]any, reason, error) {
	if err := w.check(); err != nil {
		return nil, "", err
	}
	text := strings.TrimSpace(fold(w.Number))
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
	case len(w.Regions) > 0 && !slices.Contains(w.Regions, region):
		return data, reasonCountry, nil
	case !w.accepts(kind):
		return data, "type", nil
	}
	return data, "", nil
}

// check returns an error that names a key with an unknown region.
func (w phoneWith) check() error {
	regions := phonenumbers.GetSupportedRegions()
	if w.Region != "" && !regions[w.Region] {
		return errors.New("offline.phone: with.region must be the ISO 3166-1 alpha-2 code of a country with phone numbers, in upper case, such as IN")
	}
	for i, region := range w.Regions {
		if !regions[region] {
			return fmt.Errorf("offline.phone: with.regions[%d] must be the ISO 3166-1 alpha-2 code of a country with phone numbers, in upper case, such as IN", i)
		}
	}
	return nil
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
