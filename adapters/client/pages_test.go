// Tests of lists that change while they are read.

package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// Between two pages, runs start and leave the list, and time passes or stands still.
func TestEachRunThatStaysIsListedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSite(t)
		w := s.Apply(review())
		start := func() verification.RunID {
			return s.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"}).ID
		}
		var listed []verification.RunID // oldest first; those that were cancelled are empty
		for range rapid.IntRange(0, 25).Draw(rt, "runs") {
			s.Advance(rapid.SampledFrom([]time.Duration{0, 0, 300 * time.Millisecond, 2 * time.Second}).Draw(rt, "later"))
			listed = append(listed, start())
		}
		more := 20 // runs that start while the list is read
		s.fault = func(n int, _ func() *http.Response) (*http.Response, error) {
			if n == 1 {
				return nil, nil // the first page shows the runs so far
			}
			for range rapid.IntRange(0, min(3, more)).Draw(rt, "started") {
				start()
				more--
			}
			for range rapid.IntRange(0, 4).Draw(rt, "cancelled") {
				i := rapid.IntRange(0, max(0, len(listed)-1)).Draw(rt, "which")
				if i < len(listed) && listed[i] != "" {
					_, err := s.Engine.Cancel(t.Context(), enginetest.Tenant, listed[i])
					must(t, err)
					listed[i] = ""
				}
			}
			return nil, nil
		}
		query := client.RunQuery{Decision: rules.DecisionReview, Limit: rapid.IntRange(1, 7).Draw(rt, "limit")}
		var got []verification.RunID
		for run, err := range s.client(t).Runs(t.Context(), query) {
			if err != nil {
				rt.Fatal(err)
			}
			if slices.Contains(got, run.ID) {
				rt.Errorf("run %s is listed twice", run.ID)
			}
			got = append(got, run.ID)
		}
		slices.Reverse(listed)
		next := 0
		for _, id := range listed {
			if id == "" {
				continue
			}
			i := slices.Index(got[next:], id)
			if i < 0 {
				rt.Fatalf("run %s is missing or out of order in %v, want %v", id, got, listed)
			}
			next += i + 1
		}
	})
}

func TestALongListIsReadInFewRequests(t *testing.T) {
	s := newSite(t)
	w, c := s.Apply(review()), s.client(t)
	const total = 450
	for range total {
		_, err := s.Engine.Start(t.Context(), enginetest.Tenant, w.ID, engine.StartRequest{ReferenceID: "person-1"})
		must(t, err)
	}
	runs := c.Runs(t.Context(), client.RunQuery{WorkflowID: w.ID})
	for range 2 { // an iterator can be used again
		n := 0
		for _, err := range runs {
			must(t, err)
			n++
		}
		if requests := s.requests(); n != total || requests != 4 { // the runs are of one second: the second request begins anew
			t.Errorf("%d runs in %d requests, want %d in 4", n, requests, total)
		}
	}
	for _, err := range runs {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if n := s.requests(); n != 1 {
		t.Errorf("%d requests for the first run, want 1", n)
	}
}

func TestEachWorkflowIsListedOnce(t *testing.T) {
	s := newSite(t)
	c := s.client(t)
	want := map[string]bool{}
	add := func(n int) {
		d := simple()
		d.Workflow = fmt.Sprintf("simple-%d", n)
		want[d.Workflow] = true
		d.Name = d.Workflow
		s.Apply(d)
	}
	for n := range 205 {
		add(n)
	}
	s.fault = func(n int, _ func() *http.Response) (*http.Response, error) {
		if n == 2 {
			add(999)
			delete(want, "simple-999") // it may be missing
		}
		return nil, nil
	}
	for w, err := range c.Workflows(t.Context()) {
		must(t, err)
		if !want[w.Name] {
			t.Errorf("%s is listed twice, or unknown", w.Name)
		}
		delete(want, w.Name)
	}
	if len(want) > 0 {
		t.Errorf("%v are missing", want)
	}
}

func TestAListEndsWithItsError(t *testing.T) {
	s := newSite(t)
	n := 0
	for run, err := range s.client(t).Runs(t.Context(), client.RunQuery{Status: "done"}) {
		if n++; err == nil || run.ID != "" || n > 1 {
			t.Errorf("row %d = %v, %v; want an error alone", n, run, err)
		}
	}
	if n != 1 {
		t.Errorf("%d rows, want the error", n)
	}
}

// The runs are of one second, so that pages are found by offset.
func TestRunsThatLeaveAListHideNoOthers(t *testing.T) {
	s := newSite(t)
	w := s.Apply(review())
	var all []verification.RunID
	for range 12 {
		all = append(all, s.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"}).ID)
	}
	s.fault = func(n int, _ func() *http.Response) (*http.Response, error) {
		if n == 3 { // after the newest four were read twice
			for _, id := range all[8:] {
				_, err := s.Engine.Cancel(t.Context(), enginetest.Tenant, id)
				must(t, err)
			}
		}
		return nil, nil
	}
	var got []verification.RunID
	for run, err := range s.client(t).Runs(t.Context(), client.RunQuery{Decision: rules.DecisionReview, Limit: 4}) {
		must(t, err)
		got = append(got, run.ID)
	}
	slices.Reverse(got)
	if !slices.Equal(got, all) {
		t.Errorf("runs = %v, want %v", got, all)
	}
}
