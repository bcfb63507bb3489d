// Submissions: the customer's answers are checked and become step data.

package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// acceptInput checks a customer's payload against the fields of its node and
// returns the step's data: the payload and the values derived from it. Problems
// name fields below "payload". upload returns the document of a field by its id;
// if upload is nil, any document_id is accepted. The limits of dates are those of the
// day of now in its location.
func acceptInput(
	n workflow.Node, patterns map[string]workflow.Pattern, payload verification.Data, now time.Time, upload func(field, id string) (verification.Document, bool),
) (verification.Data, []verification.FieldError) {
	if optedOut, ok := payload.Map()["opted_out"]; ok {
		if _, isField := n.Fields.ByName("opted_out"); !isField {
			return acceptOptOut(n, payload, optedOut)
		}
	}
	values, problems := payload.Map(), []verification.FieldError(nil)
	problem := func(name, message string) {
		problems = append(problems, verification.FieldError{Name: "payload." + name, Message: message})
	}
	geo, located := true, false
	documents := map[string]verification.Document{}
	written := map[string]string{}
	for _, f := range n.Fields {
		v, given := values[f.Name]
		delete(values, f.Name)
		if !given || v == nil || v == "" {
			if f.Required {
				problem(f.Name, workflow.RequiredProblem)
			}
			continue
		}
		if text, ok := v.(string); ok {
			if s := f.Written(text); s != text {
				v, written[f.Name] = s, s
			}
		}
		if message := f.Check(v, patterns[f.Name], now); message != "" {
			problem(f.Name, message)
			continue
		}
		if f.Upload() && upload != nil {
			d, ok := upload(f.Name, documentID(v))
			if !ok {
				problem(f.Name, "is not an upload of this run")
				continue
			}
			documents[f.Name] = d
		}
		if f.Type == workflow.FieldLocation {
			located = true
			geo = geo && f.Inside(v)
		}
	}
	for name := range values {
		problem(name, "is not a field of this step")
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b verification.FieldError) int { return strings.Compare(a.Name, b.Name) })
		return nil, problems
	}
	data := payload
	if data == nil {
		data = verification.Data("{}")
	}
	if len(written) > 0 {
		data = jsontext.Replace(data, written)
	}
	if located {
		data = jsontext.Extend(data, "geo_ok", geo)
	}
	if len(documents) > 0 {
		data = jsontext.Extend(data, "documents", factsOf(documents))
	}
	return data, nil
}

// documentID returns the id in the value of an upload; empty if there is none.
func documentID(v any) string {
	d, _ := v.(map[string]any)
	id, _ := d["document_id"].(string)
	return strings.ToLower(id)
}

func acceptOptOut(n workflow.Node, payload verification.Data, optedOut any) (verification.Data, []verification.FieldError) {
	switch {
	case !n.Optional:
		return nil, []verification.FieldError{{Name: "payload.opted_out", Message: "this step is not optional"}}
	case optedOut != true:
		return nil, []verification.FieldError{{Name: "payload.opted_out", Message: "must be true"}}
	case len(payload.Map()) != 1:
		return nil, []verification.FieldError{{Name: "payload.opted_out", Message: "must be sent alone"}}
	}
	return payload, nil
}

// acceptConsent checks a consent payload and returns the step's data.
func acceptConsent(payload verification.Data) (data verification.Data, declined bool, problems []verification.FieldError) {
	values := payload.Map()
	status := values["consent_status"]
	delete(values, "consent_status")
	if status != "success" && status != "declined" {
		problems = append(problems, verification.FieldError{Name: "payload.consent_status", Message: `must be "success" or "declined"`})
	}
	for name := range values {
		problems = append(problems, verification.FieldError{Name: "payload." + name, Message: "is not a field of this step"})
	}
	slices.SortFunc(problems, func(a, b verification.FieldError) int { return strings.Compare(a.Name, b.Name) })
	return payload, status == "declined", problems
}
