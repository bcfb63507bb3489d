// Converts a form to the payload of its step.

package journey

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// declined is the consent_status of a customer who does not agree.
const declined = "declined"

// payloadOf returns the payload of an answer. It passes on a value that it cannot
// parse, so that the engine reports it together with all other problems, and
// adds a more precise problem to the form.
func payloadOf(step *engine.JourneyStep, f form, c catalog) map[string]any {
	if step.Type == workflow.NodeConsent {
		return map[string]any{"consent_status": f.values["consent"]}
	}
	if f.values["do"] == "opt_out" {
		return map[string]any{"opted_out": true}
	}
	payload := map[string]any{}
	for _, field := range step.Fields {
		if value, given := valueOf(field, f, c); given {
			payload[field.Name] = value
		}
	}
	return payload
}

// valueOf returns the value of a field. given is false for an empty one.
func valueOf(field workflow.InputField, f form, c catalog) (value any, given bool) {
	text := f.values[inputName(field.Name)]
	switch field.Type {
	case workflow.FieldCheckbox:
		return text != "", true
	case workflow.FieldFile, workflow.FieldImage:
		kept := f.uploads[field.Name]
		if kept.ID == "" && f.problems[field.Name] == "" {
			return nil, false
		}
		if f.problems[field.Name] != "" {
			return "refused", true // the step must not be accepted without the file
		}
		return map[string]any{"document_id": kept.ID}, true
	case workflow.FieldLocation:
		return locationOf(f.location(field.Name))
	case workflow.FieldGroup:
		return rowsOf(field, f, c), true
	case workflow.FieldNumber:
		if text == "" {
			return nil, false
		}
		if thousands, fraction, two := twoReadings(text, field.Integer); two {
			f.problems[field.Name] = fmt.Sprintf(c.Message("number.two_readings"), thousands, fraction)
			return text, true
		}
		n, message := readNumber(text)
		if message != "" {
			f.problems[field.Name] = c.Message(message)
			return text, true
		}
		if whole, _, _ := strings.Cut(string(n), "."); field.Integer && strings.Trim(string(n)[len(whole):], ".0") == "" {
			return json.Number(whole), true
		}
		return n, true
	case workflow.FieldDate:
		text = dateOf(field, f)
	case workflow.FieldText, workflow.FieldTextarea, workflow.FieldSelect, workflow.FieldEmail, workflow.FieldPhone:
	}
	return text, text != ""
}

// dateOf returns a date of three parts, or of one, as YYYY-MM-DD. It is empty if no part is
// given; if only some are, it is no date. A birth date may lack the day, or the day and the month: they are empty, zeros, X or ?.
func dateOf(field workflow.InputField, f form) string {
	name := inputName(field.Name)
	part := func(of string, digits int) string {
		text := verification.ASCIIDigits(f.values[name+"."+of])
		return strings.Repeat("0", max(0, digits-len(text))*min(1, len(text))) + text
	}
	year, month, day := verification.ASCIIDigits(f.values[name+".year"]), part("month", 2), part("day", 2)
	if year+month+day == "" {
		return verification.ASCIIDigits(f.values[name])
	}
	if unknown := func(part string) bool { return strings.Trim(part, "0xX?") == "" }; field.BirthOf == workflow.FactPerson && unknown(day) {
		if unknown(month) {
			return year
		}
		return year + "-" + month
	}
	return year + "-" + month + "-" + day
}

func locationOf(l location) (value any, given bool) {
	if l.Denied {
		return map[string]any{"denied": true}, true
	}
	if !l.Shared() {
		return nil, false
	}
	coordinates := map[string]any{}
	for name, text := range map[string]string{"latitude": l.Latitude, "longitude": l.Longitude, "accuracy": l.Accuracy} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseFloat(text, 64) // the script of the page wrote it
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return text, true // refused by the engine
		}
		coordinates[name] = n
	}
	return coordinates, true
}

// twoReadings reports whether people read a number in two ways: the mark of 1.250 and of
// 1,250 stands for thousands in some countries, and for decimals in others. It returns both,
// written so that each has one reading. The comma of a whole number stands for thousands:
// where it is the mark of decimals, nobody writes three zeros behind a whole number.
func twoReadings(s string, integer bool) (thousands, fraction string, two bool) {
	s = strings.NewReplacer("−", "-", "+", "", "،", ",").Replace(verification.ASCIIDigits(s))
	if !regexp.MustCompile(`^-?[1-9]\d{0,2}[.,]\d{3}$`).MatchString(s) || integer && strings.Contains(s, ",") {
		return "", "", false
	}
	s = strings.Replace(s, ",", ".", 1)
	if fraction = strings.TrimRight(s, "0"); fraction == s {
		fraction += "0" // four decimals are no thousands
	}
	return strings.Replace(s, ".", "", 1), strings.TrimSuffix(fraction, "."), true
}

// readNumber parses a number in digits of any script with at most one decimal point.
// Separators may group its digits where the number then has only one meaning: in threes,
// as in 1,234,567, or as in 12,34,567; see twoReadings. The number has all its digits. message is the key of its problem, or empty.
func readNumber(s string) (n json.Number, message string) {
	s = strings.NewReplacer("−", "-", "٫", ".", "٬", ",", "،", ",", "’", "'", "\u00a0", " ", "\u202f", " ").Replace(verification.ASCIIDigits(s))
	if regexp.MustCompile(`^[+-]?([1-9]\d{0,2}((,\d{3})+|('\d{3})+|( \d{3})+)|[1-9]\d?(,\d\d)+,\d{3})(\.\d*)?$`).MatchString(s) {
		s = strings.NewReplacer(",", "", "'", "", " ", "").Replace(s)
	}
	if strings.ContainsAny(s, ",' ") {
		return "", "number.separator"
	}
	parts := regexp.MustCompile(`^([+-]?)0*(\d*)(\.\d*)?$`).FindStringSubmatch(s) // no exponent
	if parts == nil || !strings.ContainsAny(s, "0123456789") {
		return "", "number.form"
	}
	text := cmp.Or(parts[2], "0") + strings.TrimSuffix(parts[3], ".")
	if parts[1] == "-" && strings.Trim(text, "0.") != "" {
		text = "-" + text
	}
	if _, err := verification.ParseNumber(json.Number(text)); err != nil {
		return "", "number.long"
	}
	return json.Number(text), ""
}
