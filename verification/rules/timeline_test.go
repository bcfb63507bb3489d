package rules_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheTimelineOfEveryRecordedHistory(t *testing.T) {
	var b strings.Builder
	seen := map[desk.TimelineKind]bool{}
	histories := recorded(t)
	histories["opted out.jsonl"] = []rules.Event{
		{At: flows.Noon(), Fact: rules.CustomerAwaited{Node: "photo", Type: workflow.NodeCustomerInput, Label: "Photo"}},
		{At: flows.Noon(), Fact: rules.CustomerSubmitted{Node: "photo", Data: verification.Data(`{"opted_out":true}`)}},
	}
	for _, file := range slices.Sorted(maps.Keys(histories)) {
		fmt.Fprintf(&b, "%s\n", strings.TrimSuffix(filepath.Base(file), ".jsonl"))
		events := 0
		for _, e := range desk.Timeline(histories[file]) {
			seen[e.Kind] = true
			events += e.Count
			fmt.Fprintf(&b, "  %s %s", e.At.Format("15:04:05"), e.Kind)
			if e.Count > 1 {
				fmt.Fprintf(&b, " x%d until %s", e.Count, e.Until.Format("15:04:05"))
			}
			for _, text := range []string{e.Label, e.Provider, e.Field, e.Workflow, e.When, e.ToLabel, e.Values.String(), e.By, e.Assignee, e.Reason, said(e)} {
				if text != "" {
					fmt.Fprintf(&b, " | %s", text)
				}
			}
			if e.Visit > 0 {
				fmt.Fprintf(&b, " | visit %d", e.Visit)
			}
			for _, c := range e.Cleared {
				fmt.Fprintf(&b, " | %s cleared by %s", c.Hit.Name, c.By)
			}
			if !e.Next.IsZero() {
				fmt.Fprintf(&b, " | next %s", e.Next.Format("15:04:05"))
			}
			b.WriteByte('\n')
		}
		if events != len(histories[file]) {
			t.Errorf("%s: the lines count %d events, want %d", file, events, len(histories[file]))
		}
	}
	golden.Equal(t, "testdata/timelines.txt", []byte(b.String()))
	for _, kind := range timelineKinds() {
		if !seen[kind] {
			t.Errorf("no recorded history has a line %s", kind)
		}
		delete(seen, kind)
	}
	for kind := range seen {
		t.Errorf("timelineKinds does not list %q", kind)
	}
}

func TestRepeatedEventsAreOneLine(t *testing.T) {
	at := flows.Noon()
	event := func(after time.Duration, f rules.Fact) rules.Event {
		return rules.Event{At: at.Add(after), Fact: f}
	}
	got := desk.Timeline([]rules.Event{
		event(0, rules.Dispatched{Node: "pan", Label: "PAN", Provider: "source", Dispatch: 1, Visit: 1}),
		event(1*time.Second, rules.ResultPending{Node: "pan", PollAt: at.Add(2 * time.Second)}),
		event(2*time.Second, rules.ResultPending{Node: "pan", PollAt: at.Add(3 * time.Second)}),
		event(3*time.Second, rules.PollFailed{Node: "pan", Cause: "timeout"}),
		event(4*time.Second, rules.PollFailed{Node: "pan", Cause: "refused"}),
		event(5*time.Second, rules.ResultPending{Node: "pan"}),
	})
	var lines []string
	for _, e := range got {
		lines = append(lines, fmt.Sprintf("%s %d %s %s", e.Kind, e.Count, e.Until.Sub(at), e.Text))
	}
	want := []string{
		"dispatched 1 0s ", "pending 2 2s ", "poll_failed 1 3s timeout", "poll_failed 1 4s refused", "pending 1 5s ",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("lines = %q, want %q", lines, want)
	}
	if next := got[1].Next; !next.Equal(at.Add(3 * time.Second)) {
		t.Errorf("the next poll is at %s, want that of the last event", next)
	}
}

func TestTheTimelineTellsVisitsApart(t *testing.T) {
	j := begin(t, owners(), "").submit(`{"more":true}`).result(verification.OutcomePassed, hit).
		submit(`{}`).noResult(false).redispatch().pass()
	var lines []string
	for _, e := range desk.Timeline(j.history)[1:] {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", e.Kind, e.Node, e.Visit, said(e))))
	}
	want := []string{
		"awaited owner 0", "submitted owner 0", "dispatched list 0",
		"passed list 0 The analysis could not be completed with confidence.", "branched more 0",
		"awaited owner 2", "submitted owner 0", "dispatched list 2", "no_result list 0 timeout", "retried list 0", "passed list 0",
		"else more 0", "completed  0",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// said returns the text or the sentences of a line.
func said(e desk.TimelineEntry) string {
	all := []string{e.Text}
	for _, s := range e.Sentences {
		all = append(all, s.String())
	}
	return strings.TrimSpace(strings.Join(all, " "))
}

// timelineKinds returns every kind.
func timelineKinds() []desk.TimelineKind {
	return []desk.TimelineKind{
		desk.TimelineStarted, desk.TimelineDispatched, desk.TimelineRetried, desk.TimelinePending,
		desk.TimelineCalledBack, desk.TimelinePollFailed, desk.TimelinePassed, desk.TimelineNotPassed,
		desk.TimelineNoResult, desk.TimelineUnavailable, desk.TimelineAwaited, desk.TimelineOpened,
		desk.TimelineUploaded, desk.TimelineSubmitted, desk.TimelineConsented, desk.TimelineDeclined,
		desk.TimelineOptedOut, desk.TimelineBranched, desk.TimelineElse, desk.TimelineSkipped, desk.TimelineKept,
		desk.TimelineDiffers, desk.TimelineAgrees, desk.TimelineReview,
		desk.TimelineApproved, desk.TimelineRejected, desk.TimelineProposedApproval, desk.TimelineProposedRejection,
		desk.TimelineSentBack, desk.TimelineHitsFound, desk.TimelineMatches, desk.TimelineHitSame,
		desk.TimelineHitOther, desk.TimelineHitUnsure, desk.TimelineHitsCleared, desk.TimelineHitsOverruled, desk.TimelineCompleted, desk.TimelineFailed,
		desk.TimelineExpired, desk.TimelineCancelled, desk.TimelineHeld, desk.TimelineHoldEnded, desk.TimelineRedacted,
		desk.TimelineRestricted, desk.TimelineRestrictionLifted,
		desk.TimelineErased, desk.TimelineDocumentsRemoved,
		desk.TimelineNote, desk.TimelineAssigned, desk.TimelineUnassigned, desk.TimelineEscalated, desk.TimelineDueSoon,
		desk.TimelineCorrected,
		desk.TimelineRejectedBefore, desk.TimelineNotLookedUp,
		desk.TimelineGroup, desk.TimelineEach, desk.TimelineMet, desk.TimelineNotMet, desk.TimelineUnanswered, desk.TimelineCannotTell,
		desk.TimelineAskedAgain, desk.TimelineLedAway, desk.TimelineCameBack,
	}
}
