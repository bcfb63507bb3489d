// Tests of lists that lose more than half of their entries.

package watchlist_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/watchlist"
)

// acceptances are kept in a map that several hosts share.
type acceptances struct {
	of   map[string]watchlist.Accepted
	fail error
}

func (a *acceptances) AcceptedList(_ context.Context, list string) (watchlist.Accepted, error) {
	return a.of[list], a.fail
}

func (a *acceptances) AcceptEntries(_ context.Context, list string, entries int) error {
	accepted := a.of[list]
	accepted.Entries = entries
	a.of[list] = accepted
	return a.fail
}

func (a *acceptances) accept(version string) {
	accepted := a.of["sanctions"]
	accepted.Versions = append(accepted.Versions, version)
	a.of["sanctions"] = accepted
}

// entries returns a list of n people.
func entries(n int) string {
	var text strings.Builder
	text.WriteString("name\n")
	for i := range n {
		fmt.Fprintf(&text, "Ivan%d Testov%d\n", i, i)
	}
	return text.String()
}

// guarded is a host with a list in a file.
type guarded struct {
	*watched

	at int
}

func guard(t *testing.T, n int, kept *acceptances) *guarded {
	t.Helper()
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "list.csv")}
	rewrite(t, w.path, entries(n), start)
	o := watchlist.Options{
		Now: time.Now, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Loaded: func(_ string, _ *watchlist.List, err error) { w.attempts = append(w.attempts, err) },
	}
	if kept != nil {
		o.Accepted = kept
	}
	lists, err := watchlist.Open(t.Context(), []watchlist.Source{{Name: "sanctions", Path: w.path}}, o)
	if err != nil {
		t.Fatal(err)
	}
	w.lists = lists
	return &guarded{watched: w}
}

// becomes replaces the file, and has the host look at it until it would use it.
func (g *guarded) becomes(n int) {
	g.t.Helper()
	g.at++
	rewrite(g.t, g.path, entries(n), start.Add(time.Duration(g.at)*time.Minute))
	g.looks()
}

func (g *guarded) looks() {
	g.lists.Refresh(g.t.Context())
	g.lists.Refresh(g.t.Context())
}

// has ends the test unless the list in use has n entries, of which the version that waits has waiting: 0 for none.
func (g *guarded) has(n, waiting int, marked bool) {
	g.t.Helper()
	l, _ := g.lists.List("sanctions", start)
	waits := 0
	if w := g.lists.Shrunk("sanctions"); w != nil {
		waits = w.Entries
		if w.InUse != marked {
			g.t.Errorf("the version that waits is in use: %t, want %t", w.InUse, marked)
		}
	}
	if l.Entries != n || waits != waiting || (l.Lacks > 0) != marked {
		g.t.Fatalf("in use are %d entries and %d wait, %d are missing; want %d and %d, marked: %t\n%s", l.Entries, waits, l.Lacks, n, waiting, marked, g.log.String())
	}
}

func TestAListThatLostMoreThanHalfIsKept(t *testing.T) {
	for _, c := range []struct {
		before, after int
		kept          bool
	}{
		{400, 1, true}, {200, 99, true}, {200, 100, false}, {400, 380, false}, {100, 49, true}, {100, 50, false}, {99, 1, false}, {2, 1, false},
	} {
		for _, kept := range []*acceptances{nil, {of: map[string]watchlist.Accepted{}}} {
			g := guard(t, c.before, kept)
			g.becomes(c.after)
			if !c.kept {
				g.has(c.after, 0, false)
				continue
			}
			g.has(c.before, c.after, false)
			g.looks() // and says so once
			if n := strings.Count(g.log.String(), "level=WARN msg=\"a list lost more than half of its entries; its last version stays in use"); n != 1 {
				t.Errorf("%d to %d entries: %d warnings, want 1:\n%s", c.before, c.after, n, g.log.String())
			}
			if last := g.attempts[len(g.attempts)-1]; !errors.Is(last, watchlist.ErrShrunk) || len(g.attempts) != 2 {
				t.Errorf("%d to %d entries: loads %v, want one and ErrShrunk", c.before, c.after, g.attempts)
			}
			g.becomes(c.before - 1)
			g.has(c.before-1, 0, false)
		}
	}
}

func TestAnAcceptedVersionIsUsedOnEveryHost(t *testing.T) {
	kept := &acceptances{of: map[string]watchlist.Accepted{}}
	one, two := guard(t, 120, kept), guard(t, 120, kept)
	one.becomes(12)
	two.becomes(12)
	three := guard(t, 12, kept) // it has nothing older
	one.has(120, 12, false)
	two.has(120, 12, false)
	three.has(12, 12, true)
	kept.accept(strings.Repeat("0", 64)) // another version
	one.looks()
	one.has(120, 12, false)
	kept.accept(one.lists.Shrunk("sanctions").Version)
	for _, host := range []*guarded{one, two, three, guard(t, 12, kept)} {
		host.looks()
		host.has(12, 0, false)
	}
	one.becomes(11) // fewer than 100 entries are not guarded
	one.has(11, 0, false)
	back := guard(t, 120, kept) // a host that still has the file of before
	back.has(120, 0, false)
	guard(t, 12, kept).has(12, 0, false) // which stays accepted
}

func TestAMarkedListGivesWayToAnyOther(t *testing.T) {
	kept := &acceptances{of: map[string]watchlist.Accepted{"sanctions": {Entries: 400}}}
	g := guard(t, 12, kept)
	g.has(12, 12, true)
	g.becomes(20)
	g.has(20, 20, true)
	g.becomes(300)
	g.has(300, 0, false)
	if got := kept.of["sanctions"].Entries; got != 300 {
		t.Errorf("%d entries are accepted, want those in use", got)
	}
}

func TestAListIsLoadedOnceItsStoreAnswers(t *testing.T) {
	kept := &acceptances{of: map[string]watchlist.Accepted{}}
	g := guard(t, 400, kept)
	kept.fail = errors.New("no answer")
	g.becomes(390)
	g.has(400, 0, false)
	if !strings.Contains(g.log.String(), "no answer") {
		t.Errorf("the log does not say why:\n%s", g.log.String())
	}
	kept.fail = nil
	g.looks()
	g.has(390, 0, false)
}

func TestAReloadSaysThatAListIsKept(t *testing.T) {
	g := guard(t, 400, &acceptances{of: map[string]watchlist.Accepted{}})
	rewrite(t, g.path, entries(12), start.Add(time.Minute))
	loaded, err := g.lists.Reload(t.Context())
	if len(loaded) > 0 || !errors.Is(err, watchlist.ErrShrunk) {
		t.Errorf("Reload() = %v, %v, want ErrShrunk", loaded, err)
	}
	g.has(400, 12, false)
}
