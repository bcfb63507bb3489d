// The lines of a case: answers, results, verdicts and times by step, and what is expected.

package definitions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func isStep(n workflow.Node) bool { return n.IsStep() }

func asksCustomer(n workflow.Node) bool {
	return n.Type == workflow.NodeConsent || n.Type == workflow.NodeCustomerInput || len(n.RedirectHosts) > 0
}

// step returns a name of the workflow for which is returns true.
func (r *caseReader) step(at position, p path, name string, is func(workflow.Node) bool) (id verification.NodeID, ok bool) {
	id = verification.NodeID(name)
	n, ok := r.def.Node(id)
	if node, element, _ := id.Parts(); element > 0 && r.def.Nodes[node].ForEach == "" {
		ok = false
	}
	if ok && is(n) {
		return id, true
	}
	var known []string
	for _, other := range r.def.BreadthFirst() {
		if is(r.def.Nodes[other]) {
			known = append(known, string(other))
		}
	}
	message := fmt.Sprintf("the workflow has no node %q", name)
	if ok {
		message = fmt.Sprintf("the node %s is of the type %s, which does not belong here", name, n.Type)
	}
	r.problem(at, p, "%s%s", message, hint(name, known))
	return id, false
}

// hint returns the end of a message about an unknown name.
func hint(name string, known []string) string {
	switch near := workflow.DidYouMean(name, known); {
	case near != "":
		return near
	case len(known) == 0:
		return " (there is none)"
	case len(known) > maxListed:
		return ""
	}
	return " (known: " + strings.Join(known, ", ") + ")"
}

func (r *caseReader) data(t *tree, p path) verification.Data {
	raw, err := json.Marshal(t.value())
	d := verification.Data(raw)
	if err == nil {
		err = canonicalData(&d)
	}
	if err != nil {
		r.problem(t.at, p, "%s", sentence(err))
	}
	return d
}

func (r *caseReader) answers(c *Case, e entry, p path) {
	id, ok := r.step(e.at, p, e.name, asksCustomer)
	if !ok {
		return
	}
	n := r.def.Nodes[id]
	c.Answers[id] = lines(r, e.value, p, func(t *tree, at path) verification.Data {
		status, isText := t.scalar.(string)
		switch {
		case t.kind == yaml.MappingNode:
			return withUploads(n, r.data(t, at))
		case isText && n.Type == workflow.NodeConsent && (status == "success" || status == "declined"):
			d, _ := verification.NewData(map[string]any{"consent_status": status})
			return d
		case n.Type == workflow.NodeConsent:
			r.problem(t.at, at, "must be success, declined, or the payload of the signal")
		case n.Type == workflow.NodeCheck:
			r.problem(t.at, at, "must be an object with what the vendor adds to the return URL, such as {}")
		default:
			r.problem(t.at, at, "must be an object with the fields of the form")
		}
		return nil
	})
}

// upload is the document that stands for each upload of a case.
const upload = "00000000-0000-7000-8000-0000000000dd"

// withUploads returns an answer with a document for each text of a field that takes one.
func withUploads(n workflow.Node, d verification.Data) verification.Data {
	values := d.Map()
	giveUploads(n.Fields, values)
	d, _ = verification.NewData(values)
	return d
}

func giveUploads(fields workflow.InputFields, values map[string]any) {
	for _, f := range fields {
		if _, isText := values[f.Name].(string); isText && f.Upload() {
			values[f.Name] = map[string]any{"document_id": upload}
		}
		rows, _ := values[f.Name].([]any)
		for _, row := range rows {
			if row, ok := row.(map[string]any); ok {
				giveUploads(f.Fields, row)
			}
		}
	}
}

func (r *caseReader) results(c *Case, e entry, p path) {
	known := []string{}
	r.def.EachCheck(func(id verification.NodeID, n workflow.Node) {
		known = append(known, string(id))
		if key := n.CheckKey(id); !slices.Contains(known, key) {
			known = append(known, key)
		}
	})
	node, element, _ := verification.NodeID(e.name).Parts()
	if name := verification.NodeID(e.name).InDefinition(); !slices.Contains(known, string(name)) || element > 0 && r.def.Nodes[node].ForEach == "" {
		r.problem(e.at, p, "the workflow has no check %q%s", e.name, hint(e.name, known))
	}
	if c.Results[e.name] = lines(r, e.value, p, r.result); len(c.Results[e.name]) == 0 {
		r.problem(e.value.at, p, "must have at least one result")
	}
}

func (r *caseReader) result(t *tree, p path) Result {
	found := Result{Outcome: "passed"}
	if text, ok := t.scalar.(string); ok {
		outcomes := []string{"passed", "failed", "no_coverage", "inconclusive", "redirect", "pending", "unavailable", "error"}
		if found.Outcome = text; !slices.Contains(outcomes, text) {
			r.problem(t.at, p, "must be one of %s%s", strings.Join(outcomes, ", "), workflow.DidYouMean(text, outcomes))
		}
		return found
	}
	for _, e := range t.entries {
		at := append(slices.Clip(p), e.name)
		switch e.name {
		case "outcome":
			found.Outcome, _ = e.value.scalar.(string)
		case "data":
			found.Data = r.data(e.value, at)
		case "url":
			found.URL, _ = e.value.scalar.(string)
		case "after":
			found.After = r.duration(e.value, at)
		}
	}
	if found.URL != "" && found.Outcome != "redirect" {
		r.problem(t.at, p, "a result that is %s has no url", found.Outcome)
	}
	if decided := !slices.Contains([]string{"redirect", "pending", "unavailable", "error"}, found.Outcome); !decided && (found.Data != nil || found.After > 0) {
		r.problem(t.at, p, "a result that is %s has no data and no after", found.Outcome)
	}
	return found
}

func (r *caseReader) verdict(t *tree, p path) rules.Command {
	var fields struct {
		Verdict, Reason, Notes, By string
		AskAgain                   *workflow.AskAgain `json:"ask_again"`
	}
	if text, ok := t.scalar.(string); ok {
		fields.Verdict = text
		if text != "approve" && text != "reject" {
			r.problem(t.at, p, "must be approve or reject")
		}
	} else if raw, err := json.Marshal(t.value()); err == nil {
		_ = json.Unmarshal(raw, &fields) // its form was checked
	}
	if fields.By == "" {
		fields.By = "reviewer"
	}
	switch a := fields.AskAgain; {
	case a != nil && fields.Verdict+fields.Reason+fields.Notes != "":
		r.problem(t.at, p, "must have verdict or ask_again, and not both: a round is no verdict")
	case a != nil:
		return rules.AskAgain{Step: a.Step, Reasons: a.Reasons, Fields: a.Fields, Note: a.Note, By: fields.By, Identity: fields.By}
	}
	return rules.GiveVerdict{
		Decision: rules.Decision(fields.Verdict), Reason: fields.Reason, Notes: fields.Notes, By: fields.By, Identity: fields.By,
	}
}

func (r *caseReader) after(c *Case, e entry, p path) {
	id, _ := r.step(e.at, p, e.name, isStep)
	c.After[id] = lines(r, e.value, p, r.duration)
}

// maxTurn is the longest time that passes at once.
const maxTurn = 100 * 366 * 24 * time.Hour

func (r *caseReader) duration(t *tree, p path) time.Duration {
	text, _ := t.scalar.(string)
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	}
	if err != nil || d <= 0 || d > maxTurn {
		r.problem(t.at, p, "must be a time such as 90s, 24h or 3d")
	}
	return d
}

func (r *caseReader) expect(t *tree, p path) Expect {
	var found Expect
	if len(t.entries) == 0 {
		r.problem(t.at, p, "must not be empty")
	}
	if raw, err := json.Marshal(t.value()); err == nil {
		_ = json.Unmarshal(raw, &found) // its form was checked
	}
	node := func(id verification.NodeID, is func(workflow.Node) bool, steps ...any) {
		at, _ := t.find(fieldOf(steps))
		r.step(at, append(slices.Clip(p), steps...), string(id), is)
	}
	for i, id := range found.Path {
		node(id, func(workflow.Node) bool { return true }, "path", i)
	}
	for i, id := range found.Flags {
		node(id, isStep, "flags", i)
	}
	for i, id := range found.Unscreened {
		node(id, isStep, "unscreened", i)
	}
	if found.WaitsFor != "" {
		node(found.WaitsFor, isStep, "waits_for")
	}
	if e, ok := t.entry("data"); ok {
		found.Data = r.data(e.value, append(slices.Clip(p), "data"))
	}
	outcomes := []string{"none"}
	for _, n := range r.def.Nodes {
		if n.Outcome != "" {
			outcomes = append(outcomes, n.Outcome)
		}
	}
	if slices.Sort(outcomes); found.Outcome != "" && !slices.Contains(outcomes, found.Outcome) {
		at, _ := t.find("outcome")
		r.problem(at, append(slices.Clip(p), "outcome"), "no end of the workflow has the outcome %q%s", found.Outcome, hint(found.Outcome, outcomes))
	}
	return found
}
