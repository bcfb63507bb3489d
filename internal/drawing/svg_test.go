package drawing_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func aWorkflow(t testing.TB, name string) workflow.Definition {
	t.Helper()
	file := workflowFile(name)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definitions.ReadWorkflow(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	return d.Definition
}

func svg(t testing.TB, d workflow.Definition, o drawing.Options) string {
	t.Helper()
	text, err := drawing.SVG(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// routed are the transitions of every edge.
func routed(d workflow.Definition) (all []rules.Transition) {
	for _, id := range slices.Sorted(maps.Keys(d.Nodes)) {
		for _, r := range d.Nodes[id].Routes() {
			all = append(all, rules.Transition{From: id, To: r.To, On: r.On})
		}
	}
	return all
}

func TestPicturesMatchTheirGoldens(t *testing.T) {
	individual, retry := aWorkflow(t, "individual"), aWorkflow(t, "retry")
	counts := map[rules.Transition]int{}
	for i, move := range routed(individual) {
		counts[move] = i * i * 1234
	}
	golden(t, "individual.svg", svg(t, individual, drawing.Options{Inline: true, Counts: counts}))
	golden(t, "retry.svg", svg(t, retry, drawing.Options{}))
	golden(t, "path.svg", svg(t, retry, drawing.Options{Inline: true, Path: []rules.Transition{
		{To: "number"},
		{From: "number", To: "iban", On: "next"},
		{From: "iban", To: "number", On: "failed"},
		{From: "number", To: "iban", On: "next"},
		{From: "iban", To: "yes", On: "next"},
	}}))
	golden(t, "groups.svg", svg(t, aWorkflow(t, "groups"), drawing.Options{}))
	after := edited(individual)
	golden(t, "comparison.svg", svg(t, after, drawing.Options{Inline: true, Before: &individual}))
}

func TestTheDocumentationShowsThePictureOfItsExample(t *testing.T) {
	raw, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	d, err := definitions.ReadWorkflow("workflows.md", []byte(block))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../../docs/workflows/onboarding.svg", svg(t, d.Definition, drawing.Options{}))
}

// edited is the definition with a node added, one removed, and one changed.
func edited(d workflow.Definition) workflow.Definition {
	d.Nodes = maps.Clone(d.Nodes)
	delete(d.Nodes, "court_note")
	court := d.Nodes["court"]
	court.OnUnavailable = "bureau"
	d.Nodes["court"] = court
	d.Nodes["bureau"] = workflow.Node{Type: workflow.NodeCheck, Label: "Credit bureau", Provider: "sandbox", Next: "risk"}
	return d
}

// texts returns the characters inside the elements of a kind in a picture, and fails if
// it is not XML.
func texts(t tester, picture string) (elements map[string]int, inside map[string][]string) {
	t.Helper()
	elements, inside = map[string]int{}, map[string][]string{}
	var open []string
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, inside
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			elements[token.Name.Local]++
			inside[token.Name.Local] = append(inside[token.Name.Local], "")
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || strings.Contains(a.Name.Local, "href") {
					t.Errorf("an element has the attribute %s", a.Name.Local)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all := inside[open[len(open)-1]]
				all[len(all)-1] += string(token)
			}
		}
	}
}

type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func TestAPictureOfAnyDefinitionIsSafeAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition().Draw(t, "definition")
		o := drawing.Options{Inline: rapid.Bool().Draw(t, "inline")}
		if rapid.Bool().Draw(t, "with counts") {
			o.Counts = map[rules.Transition]int{}
		}
		if rapid.Bool().Draw(t, "with a comparison") {
			before := anyDefinition().Draw(t, "before")
			o.Before = &before
		}
		if rapid.Bool().Draw(t, "with a path") {
			o.Path = routed(d)
		}
		picture, err := drawing.SVG(d, o)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := drawing.SVG(d, o); again != picture {
			t.Fatal("a second picture differs")
		}
		elements, _ := texts(t, picture)
		for name := range elements {
			if !slices.Contains([]string{"svg", "title", "desc", "style", "g", "path", "rect", "circle", "text"}, name) {
				t.Errorf("the picture has an element %s", name)
			}
		}
		wellLaid(t, d, o)
	})
}

// wellLaid fails if boxes overlap or leave the picture, or if an arrow does not begin and
// end at its nodes.
func wellLaid(t tester, d workflow.Definition, o drawing.Options) {
	t.Helper()
	l, err := drawing.Lay(d, o)
	if err != nil {
		t.Fatalf("lay out: %v", err)
	}
	for i, a := range l.All {
		if a.Left < 0 || a.Top < 0 || a.Right > l.Width || a.Bottom > l.Height {
			t.Errorf("%+v is outside the picture of %v to %v", a, l.Width, l.Height)
		}
		for _, b := range l.All[i+1:] {
			if a.Left < b.Right && b.Left < a.Right && a.Top < b.Bottom && b.Top < a.Bottom {
				t.Errorf("%+v and %+v overlap", a, b)
			}
		}
	}
	for _, line := range l.Lines {
		var x, y, headX, headY float64
		if _, err := fmt.Sscanf(line.Path, `<path class="g-line" d="M%g %g`, &x, &y); err != nil {
			t.Fatalf("%s: %v", line.Path, err)
		}
		_, head, _ := strings.Cut(line.Path, `class="g-head"`)
		if _, err := fmt.Sscanf(head, ` d="M%g %gl`, &headX, &headY); err != nil {
			t.Fatalf("%s: %v", line.Path, err)
		}
		to := l.Nodes[line.To]
		if headX < to.Left || headX > to.Right || headY > to.Top || headY < to.Top-2 {
			t.Errorf("an arrow to %+v ends at %v, %v", to, headX, headY)
		}
		if line.From >= 0 {
			from := l.Nodes[line.From]
			if x < from.Left || x > from.Right || y != from.Bottom {
				t.Errorf("an arrow from %+v begins at %v, %v", from, x, y)
			}
		}
	}
}

// large is a definition of so many nodes with random routes.
func large(nodes int) *rapid.Generator[workflow.Definition] {
	return rapid.Custom(func(t *rapid.T) workflow.Definition {
		d := workflow.Definition{Workflow: "large", Start: "n0", Nodes: map[verification.NodeID]workflow.Node{}}
		name := func(i int) verification.NodeID { return verification.NodeID(fmt.Sprintf("n%d", i)) }
		for i := range nodes {
			any := func(label string) verification.NodeID { return name(rapid.IntRange(0, nodes-1).Draw(t, label)) }
			near := name(min(i+rapid.IntRange(1, 4).Draw(t, "near"), nodes-1))
			n := workflow.Node{Type: workflow.NodeCheck, Next: near, Label: strings.Repeat("Word ", rapid.IntRange(0, 12).Draw(t, "words"))}
			switch rapid.IntRange(0, 5).Draw(t, "type") {
			case 0:
				n.Type, n.Else = workflow.NodeBranch, near
				for range rapid.IntRange(1, 6).Draw(t, "rules") {
					n.Rules = append(n.Rules, workflow.Rule{When: "steps.a.data.score < 0.5 && input.amount > 1000", Next: any("rule")})
				}
			case 1:
				n.Type, n.OnReject = workflow.NodeReview, any("reject")
			case 2:
				n.OnFailed = any("failed")
			case 3:
				n.Type, n.OnNotMet, n.When, n.ForEach = workflow.NodeChecks, any("not met"), "input.amount > 1000", "input.owners"
				n.Members = make(workflow.Members, rapid.IntRange(1, 16).Draw(t, "members"))
			}
			d.Nodes[name(i)] = n
		}
		d.Nodes[name(nodes-1)] = workflow.Node{Type: workflow.NodeEnd}
		return d
	})
}

func TestNothingOverlapsInPicturesOfUpToSixtyNodes(t *testing.T) {
	for _, nodes := range []int{3, 15, 60} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			for seed := range 12 {
				wellLaid(t, large(nodes).Example(seed), drawing.Options{Counts: map[rules.Transition]int{}})
			}
		})
	}
}

// TestEveryPictureIsBounded draws what a definition of the largest size can be.
func TestEveryPictureIsBounded(t *testing.T) {
	chain := workflow.Definition{Workflow: "chain", Start: "n000", Nodes: map[verification.NodeID]workflow.Node{}}
	tangle := workflow.Definition{Workflow: "tangle", Start: "n000", Nodes: map[verification.NodeID]workflow.Node{}}
	name := func(i int) verification.NodeID { return verification.NodeID(fmt.Sprintf("n%03d", i%500)) }
	for i := range 500 {
		chain.Nodes[name(i)] = workflow.Node{Type: workflow.NodeCheck, Next: name(i + 1), OnFailed: "n499"}
		n := workflow.Node{Type: workflow.NodeBranch, Else: name(i + 1)}
		for k := range 50 {
			n.Rules = append(n.Rules, workflow.Rule{When: "true", Next: name(i*7 + k*11)})
		}
		tangle.Nodes[name(i)] = n
	}
	begin := time.Now()
	if picture, err := drawing.SVG(chain, drawing.Options{}); err != nil || len(picture) > 1<<20 {
		t.Errorf("a chain of 500 nodes: %d bytes, %v", len(picture), err)
	}
	if _, err := drawing.SVG(tangle, drawing.Options{}); !errors.Is(err, drawing.ErrTooLarge) {
		t.Errorf("a tangle of 25,000 edges: %v", err)
	}
	if took := time.Since(begin); took > 2*time.Minute { // a second on an idle machine
		t.Errorf("the two took %v", took)
	}
}

func TestAListNamesEveryEdgeWithItsCount(t *testing.T) {
	d := aWorkflow(t, "individual")
	list := drawing.List(d, drawing.Options{
		Counts: map[rules.Transition]int{{From: "risk", To: "review", On: "!steps.court.passed"}: 7, {From: "pan", To: "face", On: "next"}: 2, {From: "pan", To: "face", On: "unavailable"}: 3},
		Path:   []rules.Transition{{To: "consent"}, {From: "consent", To: "done", On: "declined"}},
	})
	var lines []string
	for _, n := range list {
		for _, r := range n.Routes {
			lines = append(lines, fmt.Sprintf("%s, %s, %d visits: %s -> %s, %d runs, taken %d", n.Label, n.Type, n.Visits, r.Condition, r.ToLabel, r.Count, r.Taken))
		}
	}
	for _, want := range []string{
		"Consent, Consent, 1 visits: declined -> Verified, 0 runs, taken 1",
		"Consent, Consent, 1 visits: agreed -> Your details, 0 runs, taken 0",
		"PAN verification, Check, 0 visits: passed or unavailable -> Face match, 5 runs, taken 0",
		"Do the answers agree?, Branch, 0 visits: !steps.court.passed -> Manual review, 7 runs, taken 0",
		"Do the answers agree?, Branch, 0 visits: else -> Verified, 0 runs, taken 0",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the list does not say %q; it says\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

func TestEveryWordOfAPictureCanBeTranslated(t *testing.T) {
	used := map[string]bool{}
	word := func(english string) string { used[english] = true; return "«" + english + "»" }
	individual := aWorkflow(t, "individual")
	for _, d := range []workflow.Definition{individual, edited(individual), aWorkflow(t, "groups"), {Start: "gone"}, {
		Start: "b", Nodes: map[verification.NodeID]workflow.Node{"b": {Type: workflow.NodeBranch, Else: "e", Rules: slices.Repeat([]workflow.Rule{{When: "a", Next: "e"}}, 6)}, "e": {Type: workflow.NodeEnd}},
	}} {
		svg(t, d, drawing.Options{Word: word, Before: &individual})
	}
	for _, w := range drawing.Words() {
		if !used[w] {
			t.Errorf("%q is not used", w)
		}
		delete(used, w)
	}
	if len(used) > 0 {
		t.Errorf("not in Words: %v", slices.Sorted(maps.Keys(used)))
	}
}

func BenchmarkSixtyNodes(b *testing.B) {
	d := large(60).Example(1)
	for b.Loop() {
		if _, err := drawing.SVG(d, drawing.Options{Inline: true}); err != nil {
			b.Fatal(err)
		}
	}
}
