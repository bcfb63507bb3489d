// A checker of the HTML that every page must have.

package journey_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// element is one element with its attributes and the text below it.
type element struct {
	name  string
	attrs map[string]string
	text  string
	label bool // is inside a label
}

func elements(t testing.TB, body string) []element {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var all []element
	var walk func(n *html.Node, label bool) string
	walk = func(n *html.Node, label bool) string {
		if n.Type == html.TextNode {
			return n.Data
		}
		at := len(all)
		if n.Type == html.ElementNode {
			e := element{name: n.Data, attrs: map[string]string{}, label: label}
			for _, a := range n.Attr {
				if _, twice := e.attrs[a.Key]; twice {
					t.Errorf("<%s> has the attribute %s twice", n.Data, a.Key)
				}
				e.attrs[a.Key] = a.Val
			}
			all = append(all, e)
			label = label || n.Data == "label"
		}
		var text strings.Builder
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			text.WriteString(walk(c, label))
		}
		if n.Type == html.ElementNode {
			all[at].text = strings.TrimSpace(text.String())
		}
		return text.String()
	}
	walk(root, false)
	return all
}

// checkPage fails the test unless a page has a language, one heading, a title, unique
// ids, labelled inputs and references that exist, and nothing inline or from another
// host except the link back.
func checkPage(t testing.TB, body string) {
	t.Helper()
	if !strings.HasPrefix(body, "<!doctype html>") || strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "%!") {
		t.Errorf("page is broken: %s", body)
	}
	all := elements(t, body)
	var ids, labelled []string
	count := map[string]int{}
	for _, e := range all {
		count[e.name]++
		if id := e.attrs["id"]; id != "" {
			if slices.Contains(ids, id) {
				t.Errorf("the id %s occurs twice", id)
			}
			ids = append(ids, id)
		}
		labelled = append(labelled, e.attrs["for"])
	}
	for _, name := range []string{"h1", "title", "main", "header", "footer"} {
		if count[name] != 1 {
			t.Errorf("page has %d <%s>, want 1", count[name], name)
		}
	}
	for _, e := range all {
		checkElement(t, e, ids, labelled)
	}
}

func checkElement(t testing.TB, e element, ids, labelled []string) {
	t.Helper()
	input := e.name == "input" || e.name == "select" || e.name == "textarea"
	switch {
	case e.name == "html" && (e.attrs["lang"] == "" || e.attrs["dir"] == ""):
		t.Error("the page has no language or direction")
	case (e.name == "h1" || e.name == "title" || e.name == "button" || e.name == "a" || e.name == "label" || e.name == "legend") && e.text == "":
		t.Errorf("<%s> is empty", e.name)
	case input && e.attrs["type"] != "hidden" && !e.label && !slices.Contains(labelled, e.attrs["id"]):
		t.Errorf("<%s name=%s> has no label", e.name, e.attrs["name"])
	case e.name == "style", e.name == "script" && e.attrs["src"] == "":
		t.Errorf("inline <%s>", e.name)
	}
	for name, value := range e.attrs {
		switch {
		case name == "style" || strings.HasPrefix(name, "on"):
			t.Errorf("<%s %s> is inline", e.name, name)
		case name == "aria-describedby" || name == "aria-labelledby":
			for id := range strings.FieldsSeq(value) {
				if !slices.Contains(ids, id) {
					t.Errorf("<%s> is described by %s, which does not exist", e.name, id)
				}
			}
		case name == "href" && strings.HasPrefix(value, "#"):
			if !slices.Contains(ids, value[1:]) {
				t.Errorf("a link leads to %s, which does not exist", value)
			}
		case name == "src" || name == "action" || name == "href" && e.name == "link":
			if u, err := url.Parse(value); err != nil || u.Host != "" {
				t.Errorf("<%s %s=%s> is foreign", e.name, name, value)
			}
		}
	}
}
