package expression_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAPatternSaysWhetherItIsAnchored(t *testing.T) {
	for _, row := range []struct {
		text       string
		begin, end bool
		whole      string
	}{
		{`^[A-Z]{5}[0-9]{4}[A-Z]$`, true, true, `^[A-Z]{5}[0-9]{4}[A-Z]$`},
		{`[A-Z]{5}[0-9]{4}[A-Z]`, false, false, `^[A-Z]{5}[0-9]{4}[A-Z]$`},
		{`^[A-Z]{5}`, true, false, `^[A-Z]{5}$`},
		{`[0-9]$`, false, true, `^[0-9]$`},
		{`\A[0-9]\z`, true, true, `\A[0-9]\z`},
		{`^(a|b)$`, true, true, `(?:^(a|b)$)`},
		{`^a$|^b$`, true, true, `(?:^a$|^b$)`},
		{`(^a|^b)$`, true, true, `(?:(^a|^b)$)`},
		{`^a|b$`, false, false, `^(?:^a|b$)$`},
		{`a|b`, false, false, `^(?:a|b)$`},
		{`(?:^a|b)$`, false, true, `^(?:(?:^a|b)$)`},
		{`(?i)^a$`, true, true, `(?:(?i)^a$)`},
		{`(?m)^a$`, false, false, `^(?:(?m)^a$)$`},
		{`\^a\$`, false, false, `^\^a\$$`},
		{`[$^]`, false, false, `^[$^]$`},
		{`(?:^a)?b$`, false, true, `^(?:(?:^a)?b$)`},
		{`(?:^a)+$`, true, true, `(?:(?:^a)+$)`},
		{`(?:^a){0,2}$`, false, true, `^(?:(?:^a){0,2}$)`},
		{`a*^b$`, true, true, `a*^b$`},
		{`.*\p{L}.*`, true, true, `.*\p{L}.*`},
		{`(.*)a`, true, false, `(?:(.*)a)$`},
		{`a.*b`, false, false, `^a.*b$`},
		{`a.+`, false, false, `^a.+$`},
		{`\Qa.b`, false, false, ``},
		{``, false, false, `^$`},
	} {
		p, err := language.Pattern(row.text)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := p.(workflow.Anchored)
		if !ok {
			t.Fatal("a pattern does not say whether it is anchored")
		}
		begin, end, whole := a.Anchored()
		if begin != row.begin || end != row.end || whole != row.whole {
			t.Errorf("%s: %v, %v, %s, want %v, %v, %s", row.text, begin, end, whole, row.begin, row.end, row.whole)
		}
	}
}

// A pattern that calls itself anchored matches no part of a text alone.
func TestAnAnchoredPatternMatchesNoPart(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	var draw func(depth int) string
	draw = func(depth int) string {
		if depth == 0 {
			return choice(r, "a", "b", "^", "$", `\b`, "[ab]", "")
		}
		x, y := draw(depth-1), draw(depth-1)
		return choice(r, x+y, x+y, "(?:"+x+"|"+y+")", "(?:"+x+")?", "(?:"+x+")+", "(?:"+x+"){0,1}", x+"|"+y)
	}
	texts := []string{""}
	for range 4 {
		for _, text := range texts {
			texts = append(texts, text+"a", text+"b")
		}
	}
	anchored := 0
	for range 2000 {
		text := draw(1 + r.IntN(4))
		text = choice(r, text, "^(?:"+text+")$", "^"+text+"$", "(?:^"+text+"|^b)$")
		p, err := language.Pattern(text)
		if err != nil {
			continue
		}
		a, _ := p.(workflow.Anchored)
		begin, end, _ := a.Anchored()
		matcher, partly := regexp.MustCompile(text), [2]bool{}
		for _, s := range texts {
			for _, m := range matcher.FindAllStringIndex(s, -1) {
				partly[0], partly[1] = partly[0] || m[0] > 0, partly[1] || m[1] < len(s)
			}
		}
		if begin && partly[0] || end && partly[1] {
			t.Errorf("seed %d: %s is anchored (%v, %v), and matches a part", seed, text, begin, end)
		}
		if begin && end && strings.Contains(text, "a") {
			anchored++
		}
	}
	if anchored < 10 {
		t.Errorf("seed %d: %d patterns are anchored, want at least 10", seed, anchored)
	}
}

func TestAPatternWithoutAnchorsIsAWarning(t *testing.T) {
	for _, row := range []struct{ pattern, want string }{
		{`[A-Z]{5}[0-9]{4}[A-Z]`, `an answer that only contains a match is accepted: write ^[A-Z]{5}[0-9]{4}[A-Z]$ to match the whole answer, or .* where anything may be`},
		{`^[A-Z]{5}`, `an answer that only begins with a match is accepted: write ^[A-Z]{5}$ to match the whole answer, or .* where anything may be`},
		{`(IN|NP)$`, `an answer that only ends with a match is accepted: write ^(?:(IN|NP)$) to match the whole answer, or .* where anything may be`},
		{`\QA.B`, `an answer that only contains a match is accepted: write ^ before and $ after the pattern to match the whole answer, or .* where anything may be`},
		{`^[A-Z]{5}$`, ``},
		{`^(?:IN|NP)$`, ``},
		{`.*\p{L}.*`, ``},
	} {
		d := workflowOf(t, `"pan":{"type":"customer_input","next":"done"}`)
		n := d.Nodes["pan"]
		n.Fields = workflow.InputFields{{Name: "f", Type: workflow.FieldText, Pattern: row.pattern}}
		d.Nodes["pan"] = n
		p, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range p.Warnings() {
			got += w.Name + ": " + w.Message
		}
		if want := strings.TrimSuffix("nodes.pan.fields.f.pattern: "+row.want, "nodes.pan.fields.f.pattern: "); got != want {
			t.Errorf("%s: %q, want %q", row.pattern, got, want)
		}
	}
}
