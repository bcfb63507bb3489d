package drawing_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	library "github.com/verifyd/verifyd/adapters/graph"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

var update = flag.Bool("update", false, "write the goldens in testdata anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", file, diff)
	}
}

func TestDrawingsMatchTheirGoldens(t *testing.T) {
	for _, name := range []string{"individual", "business", "retry", "groups"} {
		file := workflowFile(name)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := definitions.ReadWorkflow(file, raw)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".mmd", library.Mermaid(d.Definition))
		golden(t, name+".dot", library.DOT(d.Definition))
		if picture, err := library.SVG(d.Definition); err != nil || picture != svg(t, d.Definition, drawing.Options{}) {
			t.Errorf("%s: SVG differs from the picture without options, %v", name, err)
		}
	}
}

// workflowFile returns the file of a workflow.
func workflowFile(name string) string {
	if name == "groups" {
		return filepath.Join("testdata", "groups.yaml")
	}
	return filepath.Join("..", "definitions", "testdata", "workflows", name+".yaml")
}

func TestInvalidDefinitionsAreDrawnAsFarAsPossible(t *testing.T) {
	d := workflow.Definition{
		Workflow: "nasty\"]; evil [", Start: "1. start",
		Nodes: map[verification.NodeID]workflow.Node{
			"1. start": {Type: workflow.NodeConsent, Label: "- \"quoted\"] --> x\n%%{init: {}}%%", Next: "end", OnDeclined: "end"},
			"end":      {Type: workflow.NodeBranch, Label: "<img src=x onerror=alert(1)>&lt;", Rules: []workflow.Rule{{When: "a && b || \"c\\n\" == `d`", Next: "gone"}}, Else: "1. start"},
			"class":    {Type: "dance", Label: "café 😀 \\N \\G \u202e {{x}} |y| *z* _u_ #35; \x00\xff", Next: "class"},
			" ":        {Type: workflow.NodeReview, Next: "end", OnReject: "class"},
		},
	}
	golden(t, "nasty.mmd", drawing.Mermaid(d))
	golden(t, "nasty.dot", drawing.DOT(d))
}

func TestAnEmptyDefinitionIsAnEmptyDrawing(t *testing.T) {
	if got, want := drawing.Mermaid(workflow.Definition{}), "flowchart TD\n"; got != want {
		t.Errorf("Mermaid = %q, want %q", got, want)
	}
	if got := drawing.DOT(workflow.Definition{}); !strings.HasPrefix(got, "digraph \"\" {\n") || strings.Contains(got, "n0") {
		t.Errorf("DOT = %q", got)
	}
}

func TestRoutesToTheSameNodeShareAnEdge(t *testing.T) {
	d := workflow.Definition{
		Start: "a",
		Nodes: map[verification.NodeID]workflow.Node{
			"a": {Type: workflow.NodeCheck, Next: "b", OnFailed: workflow.TargetNext, OnUnavailable: workflow.TargetFail},
			"b": {Type: workflow.NodeCheck, Next: "c", OnFailed: workflow.TargetFail},
			"c": {Type: workflow.NodeReview, Next: "d"},
			"d": {Type: workflow.NodeConsent, OnDeclined: workflow.TargetNext, Next: "e"},
			"e": {Type: workflow.NodeEnd},
		},
	}
	const want = `  n0 -->|"passed or failed"| n1
  n1 --> n2
  n2 -->|"approve or reject"| n3
  n3 -->|"agreed or declined"| n4
`
	if got := drawing.Mermaid(d); !strings.HasSuffix(got, want) {
		t.Errorf("drawn as\n%s\nwant it to end with\n%s", got, want)
	}
}

// drawn is the content of a drawing: the labels of the nodes by number, and the edges
// between the numbers.
type drawn struct {
	labels []string
	arrows [][2]int
}

func TestTheWayOnWithoutARoundIsDrawn(t *testing.T) {
	d := workflow.Definition{Start: "f", Nodes: map[verification.NodeID]workflow.Node{
		"f": {Type: workflow.NodeCustomerInput, Next: "b"},
		"b": {Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
			{When: "true", AskAgain: &workflow.AskAgain{Step: "f"}, WhenUsedUp: "look"},
		}},
		"look": {Type: workflow.NodeReview, Next: "done"}, "done": {Type: workflow.NodeEnd},
	}}
	if got := drawing.Mermaid(d); strings.Count(got, "true") != 2 {
		t.Errorf("the drawing is %s, want an arrow back to the form and one to the review", got)
	}
}

func TestEveryNodeAndArrowIsDrawnWhateverTheLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyDefinition().Draw(t, "definition")
		mermaid, dot := drawing.Mermaid(d), drawing.DOT(d)
		if mermaid != drawing.Mermaid(d) || dot != drawing.DOT(d) {
			t.Fatal("a second drawing differs")
		}
		ids, arrows := expected(d)
		for name, got := range map[string]drawn{"Mermaid": readMermaid(t, mermaid), "DOT": readDOT(t, dot)} {
			if len(got.labels) != len(ids) {
				t.Fatalf("%s has %d nodes, want %d", name, len(got.labels), len(ids))
			}
			for i, id := range ids {
				if !strings.Contains(got.labels[i], string(id)) {
					t.Errorf("node %d of %s reads %q, want %q in it", i, name, got.labels[i], id)
				}
			}
			slices.SortFunc(got.arrows, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
			if diff := cmp.Diff(arrows, slices.Compact(got.arrows)); diff != "" {
				t.Errorf("arrows of %s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// expected lists the nodes breadth first, then the others by name, and the
// edges between them.
func expected(d workflow.Definition) (ids []verification.NodeID, arrows [][2]int) {
	for _, root := range append([]verification.NodeID{d.Start}, slices.Sorted(maps.Keys(d.Nodes))...) {
		for queue := []verification.NodeID{root}; len(queue) > 0; queue = queue[1:] {
			if !slices.Contains(ids, queue[0]) {
				ids = append(ids, queue[0])
				queue = append(queue, d.Nodes[queue[0]].Targets()...)
			}
		}
	}
	for from, id := range ids {
		for _, to := range d.Nodes[id].Targets() {
			arrows = append(arrows, [2]int{from, slices.Index(ids, to)})
		}
	}
	slices.SortFunc(arrows, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return ids, slices.Compact(arrows)
}

func readMermaid(t *rapid.T, text string) drawn {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "flowchart TD" {
		t.Fatalf("it begins with %q", lines[0])
	}
	node := regexp.MustCompile(`^  n(\d+)[\[({/]+"([^"<>&;` + "`" + `#]*(?:(?:#\d+;|<br/>)[^"<>&;` + "`" + `#]*)*)"[\])}/]+$`)
	edge := regexp.MustCompile(`^  n(\d+) -->(?:\|"(?:[^"<>&;#|]|#\d+;)+"\|)? n(\d+)$`)
	entity := regexp.MustCompile(`#(\d+);`)
	var d drawn
	for _, line := range lines[1:] {
		if m := node.FindStringSubmatch(line); m != nil {
			if m[1] != strconv.Itoa(len(d.labels)) {
				t.Fatalf("node %s comes as number %d", m[1], len(d.labels))
			}
			d.labels = append(d.labels, entity.ReplaceAllStringFunc(m[2], func(e string) string {
				n, _ := strconv.Atoi(e[1 : len(e)-1])
				return string(rune(n))
			}))
			continue
		}
		m := edge.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("a line that is no Mermaid: %q", line)
		}
		d.arrows = append(d.arrows, pair(m[1], m[2]))
	}
	return d
}

func readDOT(t *rapid.T, text string) drawn {
	const quoted = `"(?:[^"\\\n]|\\[\\"n])*"`
	head, rest, _ := strings.Cut(text, "\n")
	if !regexp.MustCompile(`^digraph `+quoted+` \{$`).MatchString(head) || !strings.HasSuffix(rest, "}\n") {
		t.Fatalf("it begins with %q", head)
	}
	node := regexp.MustCompile(`^  n(\d+) \[shape=\w+, label=(` + quoted + `)\];$`)
	edge := regexp.MustCompile(`^  n(\d+) -> n(\d+)(?: \[label=` + quoted + `\])?;$`)
	var d drawn
	for _, line := range strings.Split(strings.TrimSuffix(rest, "}\n"), "\n")[3:] {
		if line == "" {
			continue
		}
		if m := node.FindStringSubmatch(line); m != nil {
			d.labels = append(d.labels, strings.NewReplacer(`\\`, `\`, `\"`, `"`, `&amp;`, `&`).Replace(m[2]))
			continue
		}
		m := edge.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("a line that is no DOT: %q", line)
		}
		d.arrows = append(d.arrows, pair(m[1], m[2]))
	}
	return d
}

func pair(from, to string) [2]int {
	f, _ := strconv.Atoi(from)
	n, _ := strconv.Atoi(to)
	return [2]int{f, n}
}

func anyDefinition() *rapid.Generator[workflow.Definition] {
	types := []workflow.NodeType{
		workflow.NodeConsent, workflow.NodeCustomerInput, workflow.NodeCheck,
		workflow.NodeBranch, workflow.NodeReview, workflow.NodeEnd, "other",
	}
	id := rapid.Custom(func(t *rapid.T) verification.NodeID {
		return rapid.SampledFrom([]verification.NodeID{"a", "b", "end", "graph", "x1", "style", "click", "subgraph"}).Draw(t, "id")
	})
	maybe := rapid.Custom(func(t *rapid.T) verification.NodeID {
		return rapid.SampledFrom([]verification.NodeID{"", "", workflow.TargetFail, workflow.TargetNext, "a", "end", "gone"}).Draw(t, "route")
	})
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("[\"'`<>&;#|{}()\\[\\]\\\\%\n\r\t*_.0-9-]{0,12}"))
	return rapid.Custom(func(t *rapid.T) workflow.Definition {
		d := workflow.Definition{Workflow: text.Draw(t, "workflow"), Start: id.Draw(t, "start"), Nodes: map[verification.NodeID]workflow.Node{}}
		for range rapid.IntRange(0, 6).Draw(t, "nodes") {
			n := workflow.Node{
				Type: rapid.SampledFrom(types).Draw(t, "type"), Label: text.Draw(t, "label"), Next: id.Draw(t, "next"),
				OnDeclined: maybe.Draw(t, "declined"), OnFailed: maybe.Draw(t, "failed"),
				OnUnavailable: maybe.Draw(t, "unavailable"), OnReject: maybe.Draw(t, "reject"), Else: maybe.Draw(t, "else"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "rules") {
				n.Rules = append(n.Rules, workflow.Rule{When: text.Draw(t, "when"), Next: id.Draw(t, "to")})
			}
			d.Nodes[id.Draw(t, "id")] = n
		}
		return d
	})
}

func ExampleMermaid() {
	fmt.Print(drawing.Mermaid(workflow.Definition{
		Start: "age",
		Nodes: map[verification.NodeID]workflow.Node{
			"age": {Type: workflow.NodeBranch, Label: "Of age?", Rules: []workflow.Rule{{When: "input.age >= 18", Next: "yes"}}, Else: "no"},
			"no":  {Type: workflow.NodeReview, Next: "yes", OnReject: "age"},
			"yes": {Type: workflow.NodeEnd},
		},
	}))
	// Output:
	// flowchart TD
	//   n0{"Of age?<br/>age"}
	//   n1((("yes")))
	//   n2{{"no"}}
	//   n0 -->|"input.age #62;= 18"| n1
	//   n0 -->|"else"| n2
	//   n2 -->|"approve"| n1
	//   n2 -->|"reject"| n0
}
