// Whether a customer's answer will do, and what follows from it.

package verification

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// acceptInput checks a customer's payload against the fields of its node and
// returns the step's data: the payload with what is derived from it. Faults
// name fields below "payload". upload finds the document of a field by its id;
// with a nil upload, any document_id is accepted.
func acceptInput(
	n Node, patterns map[string]Pattern, payload Data, upload func(field, id string) (Document, bool),
) (Data, []FieldError) {
	if optedOut, ok := payload.Map()["opted_out"]; ok {
		if _, isField := n.Fields.ByName("opted_out"); !isField {
			return acceptOptOut(n, payload, optedOut)
		}
	}
	values, faults := payload.Map(), []FieldError(nil)
	fault := func(name, message string) {
		faults = append(faults, FieldError{Name: "payload." + name, Message: message})
	}
	geo, located := true, false
	documents := map[string]Document{}
	for _, f := range n.Fields {
		v, given := values[f.Name]
		delete(values, f.Name)
		if !given || v == nil || v == "" {
			if f.Required {
				fault(f.Name, "is required")
			}
			continue
		}
		if message := f.refuse(v, patterns[f.Name]); message != "" {
			fault(f.Name, message)
			continue
		}
		if f.Upload() && upload != nil {
			d, ok := upload(f.Name, documentID(v))
			if !ok {
				fault(f.Name, "is not an upload of this run")
				continue
			}
			documents[f.Name] = d
		}
		if f.Type == FieldLocation {
			located = true
			geo = geo && f.inside(v)
		}
	}
	for name := range values {
		fault(name, "is not a field of this step")
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b FieldError) int { return strings.Compare(a.Name, b.Name) })
		return nil, faults
	}
	data := payload
	if data == nil {
		data = Data("{}")
	}
	if located {
		data = data.with("geo_ok", geo)
	}
	if len(documents) > 0 {
		data = data.with("documents", factsOf(documents))
	}
	return data, nil
}

// Upload reports whether the field takes a document.
func (f InputField) Upload() bool { return f.Type == FieldFile || f.Type == FieldImage }

// documentID is the id that the value of an upload names; empty for none.
func documentID(v any) string {
	d, _ := v.(map[string]any)
	id, _ := d["document_id"].(string)
	return strings.ToLower(id)
}

func acceptOptOut(n Node, payload Data, optedOut any) (Data, []FieldError) {
	switch {
	case !n.Optional:
		return nil, []FieldError{{Name: "payload.opted_out", Message: "this step is not optional"}}
	case optedOut != true:
		return nil, []FieldError{{Name: "payload.opted_out", Message: "must be true"}}
	case len(payload.Map()) != 1:
		return nil, []FieldError{{Name: "payload.opted_out", Message: "must be sent alone"}}
	}
	return payload, nil
}

// acceptConsent checks a consent payload and returns the step's data.
func acceptConsent(payload Data) (data Data, declined bool, faults []FieldError) {
	values := payload.Map()
	status := values["consent_status"]
	delete(values, "consent_status")
	if status != "success" && status != "declined" {
		faults = append(faults, FieldError{Name: "payload.consent_status", Message: `must be "success" or "declined"`})
	}
	for name := range values {
		faults = append(faults, FieldError{Name: "payload." + name, Message: "is not a field of this step"})
	}
	slices.SortFunc(faults, func(a, b FieldError) int { return strings.Compare(a.Name, b.Name) })
	return payload, status == "declined", faults
}

// refuse says what is wrong with a value, or nothing.
func (f InputField) refuse(v any, pattern Pattern) string {
	switch f.Type {
	case FieldText, FieldTextarea, FieldEmail, FieldPhone, FieldDate, FieldSelect:
		s, ok := v.(string)
		if !ok {
			return "must be a string"
		}
		return f.refuseText(s, pattern)
	case FieldNumber:
		n, ok := v.(float64)
		switch {
		case !ok:
			return "must be a number"
		case f.Min != nil && n < *f.Min:
			return "must be at least " + formatNumber(*f.Min)
		case f.Max != nil && n > *f.Max:
			return "must be at most " + formatNumber(*f.Max)
		}
	case FieldCheckbox:
		checked, ok := v.(bool)
		switch {
		case !ok:
			return "must be true or false"
		case f.Required && !checked:
			return "must be checked"
		}
	case FieldFile, FieldImage:
		doc, ok := v.(map[string]any)
		id, _ := doc["document_id"].(string)
		if _, err := parseUUID("document", id); !ok || err != nil || len(doc) != 1 {
			return `must be {"document_id": the id of an upload}`
		}
	case FieldLocation:
		return refuseLocation(v)
	}
	return ""
}

func (f InputField) refuseText(s string, pattern Pattern) string {
	most := f.MaxLength
	if most == 0 {
		most = maxOneLine
		if f.Type == FieldTextarea {
			most = 10000
		}
	}
	if utf8.RuneCountInString(s) > most {
		return fmt.Sprintf("must be at most %d characters", most)
	}
	switch f.Type {
	case FieldDate:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return "must be a date, as YYYY-MM-DD"
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
		if !plausiblePhone(s) {
			return "must be a phone number"
		}
	case FieldText:
		if strings.ContainsAny(s, "\r\n") {
			return "must be one line"
		}
	case FieldTextarea, FieldNumber, FieldCheckbox, FieldFile, FieldImage, FieldLocation:
	}
	if pattern != nil && !pattern.MatchString(s) {
		return "does not have the expected form"
	}
	return ""
}

// plausibleEmail asks for one @ with something before it and a dotted host
// after it. Only a message sent there can tell more.
func plausibleEmail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	if !ok || local == "" || len(s) > 254 || strings.ContainsAny(s, " \t\r\n<>,;\"\\") {
		return false
	}
	u, err := url.Parse("//" + host)
	return err == nil && u.Host == host && u.User == nil && u.Port() == "" && !strings.HasSuffix(host, ":") &&
		strings.Contains(strings.Trim(host, "."), ".") &&
		!strings.HasPrefix(host, ".") && !strings.HasSuffix(host, ".") && !strings.Contains(host, "..")
}

// plausiblePhone asks for 7 to 15 digits, as E.164 bounds them, with a + at
// the front or none, and with the separators that people write.
func plausiblePhone(s string) bool {
	digits := 0
	for i, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r == '+' && i == 0, strings.ContainsRune(" -()", r):
		default:
			return false
		}
	}
	return digits >= 7 && digits <= 15
}

func refuseLocation(v any) string {
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
	lat, okLat := loc["latitude"].(float64)
	lon, okLon := loc["longitude"].(float64)
	if !okLat || !okLon || math.Abs(lat) > 90 || math.Abs(lon) > 180 {
		return form
	}
	if accuracy, given := loc["accuracy"]; given {
		if metres, ok := accuracy.(float64); !ok || metres < 0 {
			return form
		}
	}
	return ""
}

// inside tells whether a location lies in one of the areas; with no areas,
// whether it was given at all. A fix counts as inside when it is so for sure:
// its uncertainty is added to its distance.
func (f InputField) inside(v any) bool {
	loc, ok := v.(map[string]any)
	if !ok || loc["denied"] == true {
		return false
	}
	lat, _ := loc["latitude"].(float64)
	lon, _ := loc["longitude"].(float64)
	metres, _ := loc["accuracy"].(float64)
	for _, a := range f.Within {
		if distanceKM(a.Latitude, a.Longitude, lat, lon)+metres/1000 <= a.RadiusKM {
			return true
		}
	}
	return len(f.Within) == 0
}

// distanceKM is the great-circle distance by the haversine formula.
func distanceKM(lat1, lon1, lat2, lon2 float64) float64 {
	const earthKM, degree = 6371.0088, math.Pi / 180
	sinLat := math.Sin((lat2 - lat1) * degree / 2)
	sinLon := math.Sin((lon2 - lon1) * degree / 2)
	h := sinLat*sinLat + math.Cos(lat1*degree)*math.Cos(lat2*degree)*sinLon*sinLon
	return 2 * earthKM * math.Asin(math.Min(1, math.Sqrt(h)))
}

// formatNumber writes a number as people do, unless it is very long that way.
func formatNumber(f float64) string {
	form := byte('f')
	if math.Abs(f) >= 1e15 {
		form = 'g'
	}
	return strconv.FormatFloat(f, form, -1, 64)
}
