// What differs between a case and its expectation or the providers, and what no case reached.

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// compare adds what differs from the expectation of the case, and what was not used.
func (p *played) compare(used map[string]bool) {
	if len(p.problems) > 0 {
		return // the run stopped in the middle
	}
	p.unused(used)
	want := p.Expect
	if want.Path == nil && want.Flags == nil && want.Unscreened == nil && want.Data == nil &&
		cmp.Or(string(want.Status), want.Outcome, want.Decision, want.Error, string(want.WaitsFor)) == "" {
		p.problem("", "expects nothing: give expect, such as %s", p.expectation())
		return
	}
	if waits := want.WaitsFor != "" || want.Status == rules.StatusInProgress || want.Status == rules.StatusAbandoned; !p.run.Status.Terminal() && !waits {
		p.problem("", "the run waits for %s, or expect {waits_for: %s}", p.waiting, p.waitsFor)
	} else {
		p.compareEnd()
	}
	if want.Flags != nil {
		p.compareFlags()
	}
	if want.Unscreened != nil {
		p.compareUnscreened()
	}
	if want.Path != nil {
		p.comparePath()
	}
	p.compareData()
}

// compareEnd compares how the run ended, or how it stands.
func (p *played) compareEnd() {
	differ := func(name, got, want, why string) {
		if got = cmp.Or(got, "none"); want != "" && got != want {
			p.problem(p.field("expect."+name), "is %s, want %s%s", got, want, why)
		}
	}
	why := ""
	if p.run.Decision == rules.DecisionReview {
		why = ": the outcome is not shown before the verdict"
	}
	differ("status", string(p.run.Status), string(p.Expect.Status), "")
	differ("outcome", p.run.Outcome, p.Expect.Outcome, why)
	differ("decision", string(p.run.Decision), p.Expect.Decision, "")
	differ("error", errorCode(p.run.Error), p.Expect.Error, "")
	differ("waits_for", string(p.waitsFor), string(p.Expect.WaitsFor), "")
}

func (p *played) compareFlags() {
	got := p.flags()
	for i, id := range p.Expect.Flags {
		if !slices.Contains(got, id) {
			p.problem(p.field(fmt.Sprintf("expect.flags[%d]", i)), "the run does not flag %s", id)
		}
	}
	for _, f := range p.run.Flags {
		if !slices.Contains(p.Expect.Flags, f.NodeID) {
			p.problem(p.field("expect.flags"), "the run flags %s, too: %s", f.NodeID, f.Reason)
		}
	}
}

func (p *played) compareUnscreened() {
	for i, id := range p.Expect.Unscreened {
		if !slices.Contains(p.unscreened, id) {
			p.problem(p.field(fmt.Sprintf("expect.unscreened[%d]", i)), "the run does not leave %s unscreened", id)
		}
	}
	for _, id := range p.unscreened {
		if !slices.Contains(p.Expect.Unscreened, id) {
			p.problem(p.field("expect.unscreened"), "the run leaves %s unscreened, too", id)
		}
	}
}

// compareData compares the expected fields of the data of the end.
func (p *played) compareData() {
	got, want := p.run.Data.Map(), p.Expect.Data.Map()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := p.field("expect.data." + name)
		switch value, has := got[name]; {
		case !has:
			p.problem(at, "the end gives no such field%s", workflow.DidYouMean(name, slices.Sorted(maps.Keys(got))))
		case !sameValue(value, want[name]):
			p.problem(at, "is %s, want %s", jsonText(value), jsonText(want[name]))
		}
	}
}

// sameValue reports whether two JSON values are the same; numbers may be written in several ways.
func sameValue(a, b any) bool {
	var values [2]any
	for i, v := range []any{a, b} {
		if json.Unmarshal([]byte(jsonText(v)), &values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return plainJSON(raw)
}

// comparePath reports where the paths part.
func (p *played) comparePath() {
	got, want := p.path(), p.Expect.Path
	same := 0
	for same < len(got) && same < len(want) && got[same] == want[same] {
		same++
	}
	at, after := p.field(fmt.Sprintf("expect.path[%d]", same)), ""
	if same > 0 {
		after = fmt.Sprintf(" after %s", got[same-1])
	}
	switch {
	case same == len(got) && same == len(want):
	case same == len(got):
		p.problem(at, "the run ends%s, want %s", after, want[same])
	case same == len(want):
		p.problem(p.field("expect.path"), "the run goes on to %s%s", got[same], after)
	default:
		p.problem(at, "the run goes to %s%s, want %s", got[same], after, want[same])
	}
}

// expectation returns an expectation that the run meets.
func (p *played) expectation() string {
	fields := []string{"status: " + string(p.run.Status)}
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, name+": "+value)
		}
	}
	if add("outcome", p.run.Outcome); p.run.Status.Terminal() {
		add("decision", cmp.Or(string(p.run.Decision), "none"))
	}
	add("error", errorCode(p.run.Error))
	add("waits_for", string(p.waitsFor))
	return "{" + strings.Join(fields, ", ") + "}"
}

// reach notes the nodes and edges of the run.
func (p *played) reach(reached map[edgeJSON]bool) {
	for _, t := range rules.Transitions("", p.history) {
		reached[edgeJSON{Node: t.To}] = true
		reached[edgeJSON{Node: t.From, On: t.On, To: t.To}] = true
	}
}

// unreached returns the nodes that no run reached, and the edges between the others.
func unreached(def workflow.Definition, reached map[edgeJSON]bool) []edgeJSON {
	var all []edgeJSON
	for _, id := range def.BreadthFirst() {
		if node := (edgeJSON{Node: id}); !reached[node] {
			all = append(all, node)
			continue
		}
		for _, route := range def.Nodes[id].Routes() {
			if edge := (edgeJSON{Node: id, On: route.On, To: route.To}); !reached[edge] && !slices.Contains(all, edge) {
				all = append(all, edge)
			}
		}
	}
	return all
}

// notNeeded returns the names in results of checks that were called and then not needed, because their group was decided before they
// answered.
func (p *played) notNeeded() map[string]bool {
	all, open := map[string]bool{}, map[verification.NodeID]string{} // by step, the key
	for _, e := range p.history {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these open or close a call
		case rules.Dispatched:
			open[f.Node] = f.Key
		case rules.ResultRecorded:
			delete(open, f.Node)
		case rules.ResultUnavailable:
			delete(open, f.Node)
		case rules.GroupDecided:
			for step, key := range open {
				if strings.HasPrefix(string(step), string(f.Node)+".") {
					all[string(step)], all[string(step.InDefinition())], all[key] = true, true, true
					delete(open, step)
				}
			}
		}
	}
	return all
}

// unused reports the lines of a case that were not used. Those of the defaults belong to all cases.
func (p *played) unused(used map[string]bool) {
	report := func(field, why string) {
		if !used[field] && strings.HasPrefix(field, "cases.") {
			p.problem(field, "%s", why)
		}
	}
	over := "the run did not wait for it once more"
	if p.run.Status.Terminal() {
		over = "the run was over before"
	}
	for _, id := range slices.Sorted(maps.Keys(p.Answers)) {
		for _, l := range p.Answers[id] {
			report(l.Field, "the answer was not used: "+over)
		}
	}
	spared := p.notNeeded()
	for _, name := range slices.Sorted(maps.Keys(p.Results)) {
		for _, l := range p.Results[name] {
			if spared[name] {
				used[l.Field] = true
			}
			report(l.Field, "the result was not used: the check was not called so often")
		}
	}
	for _, l := range p.Verdicts {
		report(l.Field, "the verdict was not used: no review was open")
	}
	for _, id := range slices.Sorted(maps.Keys(p.After)) {
		for _, l := range p.After[id] {
			report(l.Field, "the time did not pass: the run did not wait there")
		}
	}
	if p.Cancel != "" {
		report(p.field("cancel"), "the run was not cancelled: it did not wait there")
	}
}

// misfits returns what the provider's description says against the data of a result. A result that
// failed may lack every field.
func (p scripted) misfits(data verification.Data, passed bool) (problems []verification.FieldError) {
	if p.description.Data == nil {
		return nil
	}
	description, values := p.description.Data.Map(), data.Map()
	properties, _ := description["properties"].(map[string]any)
	required, _ := description["required"].([]any)
	var missing []string
	for _, name := range required {
		if name, _ := name.(string); values[name] == nil {
			missing = append(missing, name)
		}
	}
	if passed && len(missing) > 0 {
		problems = append(problems, verification.FieldError{
			Message: fmt.Sprintf("%s always gives %s when it passes: give them in data", p.name, strings.Join(missing, ", ")),
		})
	}
	known := slices.Sorted(maps.Keys(properties))
	for name := range values {
		if properties[name] == nil {
			message := p.name + " gives no such field" + workflow.DidYouMean(name, known)
			problems = append(problems, verification.FieldError{Name: name, Message: message})
		}
	}
	delete(description, "required")
	delete(description, "additionalProperties")
	text, err := verification.NewData(description)
	if err != nil {
		return problems
	}
	schema, err := expression.New().Schema(text)
	if err != nil || data == nil {
		return problems // compiling the workflow reports a schema that is not valid
	}
	return append(problems, schema.Check(data)...)
}
