// Answers: which values a field takes.

package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// The messages for which a field may have a text of its own, see InputField.
const (
	RequiredProblem = "is required"                     // no answer to a required field
	CheckedProblem  = "must be checked"                 // a required checkbox is not checked
	PatternProblem  = "does not have the expected form" // the answer does not match the pattern
)

// Written returns an answer as it is checked and stored.
func (f InputField) Written(text string) string {
	switch f.Type {
	case FieldPhone:
		if number, ok := verification.CleanPhone(text); ok {
			text = number
		}
	case FieldEmail:
		text = verification.CleanEmail(text)
	case FieldText, FieldTextarea, FieldNumber, FieldDate, FieldSelect, FieldCheckbox, FieldFile, FieldImage, FieldLocation, FieldGroup:
	}
	if f.Uppercase {
		text = strings.ToUpper(text)
	}
	return text
}

// Upload reports whether the field takes a document.
func (f InputField) Upload() bool { return f.Type == FieldFile || f.Type == FieldImage }

// Check returns what is wrong with a value of Data.Map on a day, that of now in its location; empty
// if it is valid. pattern is the one of the field, nil for none.
func (f InputField) Check(v any, pattern Pattern, now time.Time) string {
	switch f.Type {
	case FieldText, FieldTextarea, FieldEmail, FieldPhone, FieldDate, FieldSelect:
		s, ok := v.(string)
		if !ok {
			return "must be a string"
		}
		return f.checkText(s, pattern, now)
	case FieldNumber:
		return f.checkNumber(v)
	case FieldCheckbox:
		checked, ok := v.(bool)
		switch {
		case !ok:
			return "must be true or false"
		case f.Required && !checked:
			return CheckedProblem
		}
	case FieldFile, FieldImage:
		doc, ok := v.(map[string]any)
		id, _ := doc["document_id"].(string)
		if _, err := verification.ParseDocumentID(id); !ok || err != nil || len(doc) != 1 {
			return `must be {"document_id": the id of an upload}`
		}
	case FieldLocation:
		return checkLocation(v)
	case FieldGroup:
		return f.checkRows(v)
	}
	return ""
}

// checkRows checks a list, but not what is in its rows.
func (f InputField) checkRows(v any) string {
	rows, ok := v.([]any)
	least, most := f.Rows()
	switch {
	case !ok:
		return "must be a list"
	case least > 0 && len(rows) == 0:
		return RequiredProblem
	case len(rows) < least:
		return fmt.Sprintf("has fewer entries than the minimum of %d", least)
	case len(rows) > most:
		return fmt.Sprintf("has more entries than the limit of %d", most)
	}
	return ""
}

func (f InputField) checkNumber(v any) string {
	n, ok := numberOf(v)
	_, fraction := n.(float64)
	switch {
	case !ok:
		return "must be a number"
	case f.Integer && fraction:
		return "must be a whole number"
	case f.Min != nil && compareNumber(n, *f.Min) < 0:
		return "must be at least " + formatNumber(*f.Min)
	case f.Max != nil && compareNumber(n, *f.Max) > 0:
		return "must be at most " + formatNumber(*f.Max)
	}
	return ""
}

// longest returns the maximum length of a text, in characters.
func (f InputField) longest() int {
	if f.MaxLength == 0 && f.Type == FieldTextarea {
		return maxTextarea
	}
	return cmp.Or(f.MaxLength, maxOneLine)
}

func (f InputField) checkText(s string, pattern Pattern, now time.Time) string {
	limit := f.longest()
	if utf8.RuneCountInString(s) > limit {
		return texts.TooLong(limit)
	}
	if f.Type != FieldSelect && f.Type != FieldPhone && strings.ContainsAny(s, directionControls) {
		return "must not have characters that change the direction of text"
	}
	switch f.Type {
	case FieldDate:
		if message := f.checkDate(s, now); message != "" {
			return message
		}
	case FieldSelect:
		if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == s }) {
			return "must be one of the options"
		}
	case FieldEmail:
		if !plausibleEmail(s) {
			return "must be an email address"
		}
	case FieldPhone:
		if _, ok := verification.CleanPhone(s); !ok {
			return "must be a phone number"
		}
	case FieldText:
		if strings.ContainsAny(s, "\r\n") {
			return "must be one line"
		}
	case FieldTextarea, FieldNumber, FieldCheckbox, FieldFile, FieldImage, FieldLocation, FieldGroup:
	}
	if pattern != nil && !pattern.MatchString(s) {
		return PatternProblem
	}
	return ""
}

// directionControls are the characters that embed, override or isolate a direction. A page
// may show text with them in another order than that of its characters, so that a check
// compares another name than a person reads. The marks U+200E, U+200F and U+061C reorder no
// letters, and keyboards for Arabic and Hebrew write them.
const directionControls = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// plausibleEmail reports whether s is a local part, an @ and a dotted host. Only
// a message sent to the address can prove more.
func plausibleEmail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	if !ok || local == "" || len(s) > 254 || strings.ContainsAny(s, "<>,;\"\\") ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return false
	}
	u, err := url.Parse("//" + host)
	return err == nil && u.Host == host && u.User == nil && u.Port() == "" && !strings.HasSuffix(host, ":") &&
		strings.Contains(strings.Trim(host, "."), ".") &&
		!strings.HasPrefix(host, ".") && !strings.HasSuffix(host, ".") && !strings.Contains(host, "..")
}

func checkLocation(v any) string {
	const form = `must be {"latitude", "longitude", "accuracy"} or {"denied": true}`
	loc, ok := v.(map[string]any)
	if !ok {
		return form
	}
	if denied, ok := loc["denied"]; ok {
		if denied != true || len(loc) != 1 {
			return form
		}
		return ""
	}
	for name := range loc {
		if name != "latitude" && name != "longitude" && name != "accuracy" {
			return form
		}
	}
	lat, okLat := nearest(loc["latitude"])
	lon, okLon := nearest(loc["longitude"])
	if !okLat || !okLon || math.Abs(lat) > 90 || math.Abs(lon) > 180 {
		return form
	}
	if accuracy, given := loc["accuracy"]; given {
		if metres, ok := nearest(accuracy); !ok || metres < 0 {
			return form
		}
	}
	return ""
}

// Inside reports whether a location certainly lies in one of the areas: its
// accuracy is added to its distance. Without areas, any location that was given
// is inside.
func (f InputField) Inside(v any) bool {
	loc, ok := v.(map[string]any)
	if !ok || loc["denied"] == true {
		return false
	}
	lat, _ := nearest(loc["latitude"])
	lon, _ := nearest(loc["longitude"])
	metres, _ := nearest(loc["accuracy"])
	for _, a := range f.Within {
		if distanceKM(a.Latitude, a.Longitude, lat, lon)+metres/1000 <= a.RadiusKM {
			return true
		}
	}
	return len(f.Within) == 0
}

// distanceKM returns the great-circle distance by the haversine formula.
func distanceKM(lat1, lon1, lat2, lon2 float64) float64 {
	const earthKM, degree = 6371.0088, math.Pi / 180
	sinLat := math.Sin((lat2 - lat1) * degree / 2)
	sinLon := math.Sin((lon2 - lon1) * degree / 2)
	h := sinLat*sinLat + math.Cos(lat1*degree)*math.Cos(lat2*degree)*sinLon*sinLon
	return 2 * earthKM * math.Asin(math.Min(1, math.Sqrt(h)))
}

// numberOf returns the value of a number of Map, as verification.ParseNumber does.
func numberOf(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v), true
		}
		return v, true
	case json.Number:
		n, err := verification.ParseNumber(v)
		return n, err == nil
	}
	return nil, false
}

// nearest returns the float64 that is nearest to a number of Map.
func nearest(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// compareNumber compares a value of verification.ParseNumber with a limit, and a whole number exactly.
func compareNumber(n any, limit float64) int {
	switch n := n.(type) {
	case int64:
		if c := cmp.Compare(float64(n), limit); c != 0 {
			return c
		}
		if limit >= math.MaxInt64 {
			return -1 // the limit is 2^63
		}
		return cmp.Compare(n, int64(limit))
	case uint64:
		if c := cmp.Compare(float64(n), limit); c != 0 {
			return c
		}
		if limit >= math.MaxUint64 {
			return -1 // the limit is 2^64
		}
		return cmp.Compare(n, uint64(limit))
	case float64:
		return cmp.Compare(n, limit)
	}
	return 0
}

// exact is 2^53: a float64 has every whole number up to it.
const exact = 1 << 53
