package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func resultOf(list, version string) verification.ScreeningResult {
	return verification.ScreeningResult{List: list, ListVersion: version}
}

// commitOf returns the commit of the events of a journey after the first n.
func commitOf(j *journey, n int) store.Commit {
	before := rules.Fold(flows.RunID, j.history[:n])
	return store.NewCommit(before, j.run, j.history[n:], time.UTC)
}

func TestTheCommitThatCompletesARunNamesItsLists(t *testing.T) {
	for _, row := range []struct {
		name    string
		results []verification.ScreeningResult
		want    string // the version
	}{
		{"one version", []verification.ScreeningResult{resultOf("sanctions", "v1"), resultOf("sanctions", "v1")}, "v1"},
		{"two versions", []verification.ScreeningResult{resultOf("sanctions", "v1"), resultOf("sanctions", "v2")}, ""},
		{"no version", []verification.ScreeningResult{{}, resultOf("sanctions", "v2")}, ""},
		{"the version of another list", []verification.ScreeningResult{resultOf("peps", "v1"), resultOf("peps", "v1")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := begin(t, flows.Screening("a", "b"), "")
			for i, result := range row.results {
				if got := commitOf(j, i).Screened; got != nil {
					t.Errorf("before the end: %v, want no list", got)
				}
				j.screened(result)
			}
			want := []rules.ScreenedList{{List: "sanctions", Version: row.want}}
			if diff := cmp.Diff(want, commitOf(j, len(j.history)-2).Screened); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
			n := len(j.history)
			if got := commitOf(j.after(time.Hour).approve("seen"), n).Screened; got != nil {
				t.Errorf("after the end: %v, want no list", got)
			}
		})
	}
}

func TestDataIsNoScreeningResult(t *testing.T) {
	j := begin(t, flows.Screening("a"), "").result(verification.OutcomePassed, `{"list":"sanctions","list_version":"v1"}`)
	want := []rules.ScreenedList{{List: "sanctions"}}
	if diff := cmp.Diff(want, commitOf(j, 0).Screened); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
}

func TestARunThatDoesNotCompleteOrDoesNotAskNamesNoList(t *testing.T) {
	failed := begin(t, flows.Screening("a"), "").fail()
	cancelled := begin(t, flows.Screening("a", "b"), "").screened(resultOf("sanctions", "v1")).cancel()
	silent := flows.Screening("a")
	flows.Edit("a", func(n *workflow.Node) { n.Rescreen = nil })(&silent)
	plain := begin(t, silent, "").screened(resultOf("sanctions", "v1"))
	for name, j := range map[string]*journey{"failed": failed, "cancelled": cancelled, "without rescreen": plain} {
		if got := commitOf(j, 0).Screened; j.run.Ended == "" || got != nil {
			t.Errorf("%s: %s with the lists %v, want an end without lists", name, j.run.Ended, got)
		}
	}
}

// searching has the bureau search peps and the register sanctions.
func searching(n *workflow.Node) {
	for i, list := range []string{"peps", "sanctions"} {
		n.Members[i].Rescreen = &workflow.Rescreen{List: list, Every: workflow.RescreenOnChange}
	}
}

// Of a group that was met without it, a member has searched nothing that a later list could change. Older histories have such members.
func TestAMemberThatWasNotNeededIsNotScreenedAgain(t *testing.T) {
	d := grouped("", 1)
	flows.Edit("pan", searching)(&d)
	yes := true
	run := begin(t, d, "").submit(consents).run.EvolveAll([]rules.Event{
		{Fact: rules.ResultRecorded{Node: "pan.register", Passed: true, Confirms: &yes}, At: flows.Noon()},
		{Fact: rules.GroupDecided{Node: "pan", Type: workflow.NodeChecks, Passed: true}, At: flows.Noon()},
		{Fact: rules.Completed{Node: "done"}, At: flows.Noon()},
	})
	want := []rules.ScreenedList{{List: "sanctions"}}
	if got := run.ScreenedLists(); run.Ended == "" || !slices.Equal(got, want) {
		t.Errorf("the run is %q with the lists %v, want the end and %v", run.Ended, got, want)
	}
}

// What a member has searched for on an earlier visit of its group is screened again, and so is what it searches for on a later one.
func TestEachVisitOfAMemberIsScreenedAgain(t *testing.T) {
	d := grouped("", 1)
	flows.Edit("pan", searching)(&d)
	flows.Edit("pan", func(n *workflow.Node) { n.When = "reads consent" })(&d)
	j := begin(t, d, `{"review":true}`).submit(consents).answer("pan.register", verification.OutcomePassed).answer("pan.bureau", verification.OutcomePassed)
	ask := askAgain()
	ask.Step = "consent"
	j.do(ask).submit(consents).answer("pan.bureau", verification.OutcomePassed).answer("pan.register", verification.OutcomePassed).approve("")
	want := []rules.ScreenedList{{List: "peps"}, {List: "sanctions"}}
	if got := j.run.ScreenedLists(); j.run.Ended == "" || !slices.Equal(got, want) {
		t.Errorf("the run is %q with the lists %v, want the end and %v", j.run.Ended, got, want)
	}
}

func TestTheRequestOfACheckIsComputedAgain(t *testing.T) {
	d := flows.Screening("a", "b")
	flows.Edit("a", func(n *workflow.Node) { n.With = verification.Data(`{"number":"${pan}"}`) })(&d)
	j := begin(t, d, "").pass().pass()
	r, err := j.run.RequestAgain(j.program, flows.TenantID, "a")
	if err != nil || r.Node != "a" || r.Dispatch != 1 || r.With["number"] != "ABCDE1234F" {
		t.Errorf("RequestAgain = %+v, %v; want the request of the check a", r, err)
	}
}

func TestStoresKeepKindAndListOfWorkAsOneText(t *testing.T) {
	for text, want := range map[string]store.WorkKey{
		"advance":           {Kind: store.WorkAdvance, Seq: 3},
		"rescreen:a:list":   {Kind: store.WorkRescreen, List: "a:list", Seq: 3},
		"rescreen:":         {Kind: store.WorkRescreen, Seq: 3},
		"rescreen:advance ": {Kind: store.WorkRescreen, List: "advance ", Seq: 3},
	} {
		if got := store.ParseWorkKey(text, 3); got != want || want.KindText() != text {
			t.Errorf("%q is read as %+v and written as %q, want %+v", text, got, want.KindText(), want)
		}
	}
}
