// From what was sent to the payload of the step.

package journey

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// payloadOf is the answer to a step. What cannot be read goes on as it was
// sent, for the engine to refuse together with all other faults; words then
// say it better than the engine could.
func payloadOf(step *engine.JourneyStep, f form, w words) map[string]any {
	if step.Type == verification.NodeConsent {
		return map[string]any{"consent_status": f.values["consent"]}
	}
	if f.values["do"] == "opt_out" {
		return map[string]any{"opted_out": true}
	}
	payload := map[string]any{}
	for _, field := range step.Fields {
		if value, given := valueOf(field, f, w); given {
			payload[field.Name] = value
		}
	}
	return payload
}

// valueOf is the answer to one field; an empty one is not given.
func valueOf(field verification.InputField, f form, w words) (value any, given bool) {
	text := f.values[formName(field.Name)]
	switch field.Type {
	case verification.FieldCheckbox:
		return text != "", true
	case verification.FieldFile, verification.FieldImage:
		kept := f.uploads[field.Name]
		if kept.ID == "" && f.faults[field.Name] == "" {
			return nil, false
		}
		if f.faults[field.Name] != "" {
			return "refused", true // the step must not go on without the file
		}
		return map[string]any{"document_id": kept.ID}, true
	case verification.FieldLocation:
		return locationOf(f.place(field.Name))
	case verification.FieldNumber:
		if text == "" {
			return nil, false
		}
		n, message := readNumber(text)
		if message != "" {
			f.faults[field.Name] = w.texts[message]
			return text, true
		}
		return n, true
	case verification.FieldPhone, verification.FieldDate:
		text = asciiDigits(text)
	case verification.FieldText, verification.FieldTextarea, verification.FieldSelect, verification.FieldEmail:
	}
	return text, text != ""
}

func locationOf(p place) (value any, given bool) {
	if p.Denied {
		return map[string]any{"denied": true}, true
	}
	if !p.Shared() {
		return nil, false
	}
	location := map[string]any{}
	for name, text := range map[string]string{"latitude": p.Latitude, "longitude": p.Longitude, "accuracy": p.Accuracy} {
		if text == "" {
			continue
		}
		n, message := readNumber(text)
		if message != "" {
			return text, true // refused by the engine
		}
		location[name] = n
	}
	return location, true
}

// readNumber reads a number as people write it: digits of any script, at most
// one point. It tells the key of what is wrong with it.
func readNumber(s string) (n float64, message string) {
	s = strings.ReplaceAll(asciiDigits(s), "−", "-")
	if strings.ContainsAny(s, ",،٫٬'’ ") {
		return 0, "number.separator"
	}
	digits, points := 0, 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			points++
		case (c == '-' || c == '+') && i == 0:
		default:
			return 0, "number.form"
		}
	}
	if digits == 0 || points > 1 {
		return 0, "number.form"
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, "number.form"
	}
	return n, ""
}

// asciiDigits writes the decimal digits of every script as 0 to 9.
func asciiDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 || !unicode.Is(unicode.Nd, c) {
			return c
		}
		for _, r := range unicode.Nd.R16 {
			if lo, hi := rune(r.Lo), rune(r.Hi); c >= lo && c <= hi {
				return '0' + (c-lo)%10
			}
		}
		return c
	}, s)
}
