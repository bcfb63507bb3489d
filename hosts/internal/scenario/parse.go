// Parsing conversations.

package scenario

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// conversation is one file.
type conversation struct {
	prose string
	steps []step
}

// step is a named part of a conversation.
type step struct {
	name  string
	items []item
}

// item is one of the types below.
type item interface{ line() int }

type at int

func (a at) line() int { return int(a) }

// exchange is a request and its wanted response.
type exchange struct {
	at
	method, path string
	header       [][2]string
	body         string
	status       int
	wantHeader   [][2]string
	wantBody     string
}

// advance advances the clock.
type advance struct {
	at
	by time.Duration
}

// decide is a reviewer's decision on a hit, which the API does not have.
type decide struct {
	at
	run, entry, match, reviewer string
}

// webhook is a wanted webhook; without a path, that there is none.
type webhook struct {
	at
	path, wantBody string
}

// parse parses a conversation. Line numbers count from the top of the file.
func parse(raw []byte) (conversation, error) {
	archive := txtar.Parse(raw)
	c := conversation{prose: strings.TrimSpace(string(archive.Comment))}
	if c.prose == "" {
		return c, fmt.Errorf("a conversation opens with prose")
	}
	first := 1 + strings.Count(string(archive.Comment), "\n")
	for _, f := range archive.Files {
		s := step{name: f.Name}
		p := &parser{lines: strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n"), first: first + 1}
		for p.skipBlank(); !p.done(); p.skipBlank() {
			i, err := p.item()
			if err != nil {
				return c, fmt.Errorf("line %d: %w", p.first+p.next, err)
			}
			s.items = append(s.items, i)
		}
		if len(s.items) == 0 {
			return c, fmt.Errorf("line %d: the step %q is empty", first, s.name)
		}
		c.steps = append(c.steps, s)
		first += 1 + strings.Count(string(f.Data), "\n")
	}
	if len(c.steps) == 0 {
		return c, fmt.Errorf("a conversation has steps")
	}
	return c, nil
}

// parser parses the lines of one step.
type parser struct {
	lines []string
	next  int
	first int // the line number of the first line
}

func (p *parser) done() bool { return p.next >= len(p.lines) }

func (p *parser) skipBlank() {
	for !p.done() && strings.TrimSpace(p.lines[p.next]) == "" {
		p.next++
	}
}

func (p *parser) item() (item, error) {
	where, line := at(p.first+p.next), p.lines[p.next]
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "no webhook":
		p.next++
		return webhook{at: where}, nil
	case word == "webhook":
		path, _, _ := strings.Cut(rest, " ")
		p.lines[p.next] = strings.TrimPrefix(rest, path)
		return webhook{at: where, path: path, wantBody: p.text()}, nil
	case word == "advance":
		p.next++
		by, err := time.ParseDuration(rest)
		return advance{at: where, by: by}, err
	case word == "decide":
		p.next++
		words := strings.Fields(rest)
		if len(words) != 4 {
			return nil, fmt.Errorf("want decide RUN ENTRY MATCH REVIEWER, not %q", line)
		}
		return decide{at: where, run: words[0], entry: words[1], match: words[2], reviewer: words[3]}, nil
	case isMethod(word) && strings.HasPrefix(rest, "/"):
		p.next++
		return p.exchange(exchange{at: where, method: word, path: rest})
	}
	return nil, fmt.Errorf("want a request, advance, decide, webhook or no webhook, not %q", line)
}

func (p *parser) exchange(e exchange) (item, error) {
	e.header = p.header()
	e.body = p.text()
	if p.done() || !strings.HasPrefix(p.lines[p.next], "--- ") {
		return nil, fmt.Errorf("%s %s: want a line such as --- 200", e.method, e.path)
	}
	var err error
	if e.status, err = strconv.Atoi(strings.TrimPrefix(p.lines[p.next], "--- ")); err != nil {
		return nil, err
	}
	p.next++
	e.wantHeader = p.header()
	e.wantBody = p.text()
	return e, nil
}

// header parses lines such as "Name: value".
func (p *parser) header() [][2]string {
	named := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*):(?: (.*))?$`)
	var found [][2]string
	for ; !p.done(); p.next++ {
		m := named.FindStringSubmatch(p.lines[p.next])
		if m == nil {
			break
		}
		found = append(found, [2]string{m[1], m[2]})
	}
	return found
}

// text returns the lines until the response or the next item.
func (p *parser) text() string {
	from := p.next
	for ; !p.done(); p.next++ {
		if line := p.lines[p.next]; strings.HasPrefix(line, "--- ") || begins(line) {
			break
		}
	}
	return strings.TrimSpace(strings.Join(p.lines[from:p.next], "\n"))
}

// begins reports whether a line is the first of an item.
func begins(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	return line == "no webhook" || word == "webhook" || word == "advance" || word == "decide" || isMethod(word) && strings.HasPrefix(rest, "/")
}

func isMethod(word string) bool {
	switch word {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return true
	}
	return false
}
