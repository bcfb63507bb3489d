// Submissions: the customer's answers are checked and become step data.

package rules

import (
	"encoding/json"
	"fmt"
	"maps"
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
	a := acceptance{
		patterns: patterns, now: now, upload: upload, geo: true,
		documents: map[string]verification.Document{}, written: map[string]string{},
	}
	a.fields("", "", n.Fields, payload.Map())
	if len(a.problems) > 0 {
		slices.SortStableFunc(a.problems, func(a, b verification.FieldError) int { return comparePlaces(a.Name, b.Name) })
		return nil, a.problems
	}
	data := payload
	if data == nil {
		data = verification.Data("{}")
	}
	if len(a.written) > 0 {
		data = a.rewrite("", data)
	}
	if len(a.without) > 0 {
		data = jsontext.Edit(data, func(_ string, value []byte) []byte { return value }, a.without...)
	}
	if a.located {
		data = jsontext.Extend(data, "geo_ok", a.geo)
	}
	if len(a.documents) > 0 {
		data = jsontext.Extend(data, "documents", factsOf(a.documents))
	}
	return data, nil
}

// acceptance is what was found in a payload. Fields in rows have places such as owners[1].name.
type acceptance struct {
	patterns map[string]workflow.Pattern
	now      time.Time
	upload   func(field, id string) (verification.Document, bool)

	problems     []verification.FieldError
	geo, located bool
	documents    map[string]verification.Document // by place
	written      map[string]string                // the texts that are stored in another form, by place
	without      [][2]string                      // the groups without a row, which are stored as empty lists
}

func (a *acceptance) problem(place, message string) {
	a.problems = append(a.problems, verification.FieldError{Name: "payload." + place, Message: message})
}

// fields checks the values of a form, or of a row, whose places begin with at. The names of the patterns begin with group.
func (a *acceptance) fields(at, group string, fields workflow.InputFields, values map[string]any) {
	for _, f := range fields {
		place := at + f.Name
		v, given := values[f.Name]
		delete(values, f.Name)
		if f.Type == workflow.FieldGroup && !given {
			v, a.without = []any{}, append(a.without, [2]string{f.Name, "[]"})
		} else if f.Type != workflow.FieldGroup && (v == nil || v == "") {
			if f.Required {
				a.problem(place, workflow.RequiredProblem)
			}
			continue
		}
		if text, ok := v.(string); ok {
			if s := f.Written(text); s != text {
				v, a.written[place] = s, s
			}
		}
		if message := f.Check(v, a.patterns[group+f.Name], a.now); message != "" {
			a.problem(place, message)
			continue
		}
		if f.Upload() && a.upload != nil {
			d, ok := a.upload(place, documentID(v))
			if !ok {
				a.problem(place, "is not an upload of this run")
				continue
			}
			a.documents[place] = d
		}
		switch f.Type { //nolint:exhaustive // the others have no parts
		case workflow.FieldLocation:
			a.located = true
			a.geo = a.geo && f.Inside(v)
		case workflow.FieldGroup:
			a.rows(f, v)
		}
	}
	for name := range values {
		a.problem(at+name, "is not a field of this step")
	}
}

// rows checks each row of a group.
func (a *acceptance) rows(f workflow.InputField, list any) {
	rows, _ := list.([]any)
	for i, row := range rows {
		values, ok := row.(map[string]any)
		before := len(a.problems)
		empty := !slices.ContainsFunc(slices.Collect(maps.Values(values)), func(v any) bool { return v != nil && v != "" })
		a.fields(workflow.Place(f.Name, i, ""), f.Name+".", f.Fields, values)
		if place := strings.TrimSuffix(workflow.Place(f.Name, i, ""), "."); !ok {
			a.problems = a.problems[:before]
			a.problem(place, "must be an object with the fields of the group")
		} else if empty && len(a.problems) == before {
			a.problem(place, "is empty: fill it in or remove it")
		}
	}
}

// rewrite returns an object whose places begin with at, with the texts as they are stored.
func (a *acceptance) rewrite(at string, object []byte) []byte {
	return jsontext.Edit(object, func(name string, value []byte) []byte {
		if text, ok := a.written[at+name]; ok {
			return jsontext.Text(text)
		}
		var rows []json.RawMessage
		if value[0] != '[' || json.Unmarshal(value, &rows) != nil {
			return value
		}
		written := make([]string, len(rows))
		for i, row := range rows {
			written[i] = string(a.rewrite(workflow.Place(name, i, ""), row))
		}
		return []byte("[" + strings.Join(written, ",") + "]")
	})
}

// comparePlaces orders places by name, and rows by number.
func comparePlaces(a, b string) int {
	padded := func(place string) string {
		before, rest, ok := strings.Cut(place, "[")
		number, after, closed := strings.Cut(rest, "]")
		if !ok || !closed {
			return place
		}
		return fmt.Sprintf("%s[%4s]%s", before, number, after)
	}
	return strings.Compare(padded(a), padded(b))
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
