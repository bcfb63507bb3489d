// Tests of the timeline.

package runpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// keyed returns a reader of English whose messages about the timeline begin with their keys, and the keys.
func keyed(t *testing.T) (s shell.Session, keys []string) {
	t.Helper()
	files := fstest.MapFS{}
	for _, language := range web.Languages() {
		name, messages := "messages/"+language+".json", map[string]string{}
		raw, err := os.ReadFile("../../" + name)
		if err == nil {
			err = json.Unmarshal(raw, &messages)
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = slices.DeleteFunc(slices.Sorted(maps.Keys(messages)), func(key string) bool { return !strings.HasPrefix(key, "timeline.") })
		for _, key := range keys {
			messages[key] = key + ": " + messages[key]
		}
		if raw, err = json.Marshal(messages); err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: raw}
	}
	all, err := web.ReadCatalogs(files)
	if err != nil {
		t.Fatal(err)
	}
	return shell.Session{Catalog: all.Choose("en", nil), Zone: time.UTC}, keys
}

// timeline returns the lines of a history, and where its branches led.
func timeline(s shell.Session, history []rules.Event) string {
	var b strings.Builder
	last := history[len(history)-1].At
	labelled := workflow.Definition{Nodes: map[verification.NodeID]workflow.Node{
		"gate": {Label: "Gate"}, "photo": {Fields: workflow.InputFields{{Name: "front", Label: "Front of the card"}}},
		"owners": {ForEach: "input.owners", Label: "Owners", Members: []workflow.Member{{Name: "court", Label: "Court"}}},
	}}
	lines, branches := timelineOf(s, desk.RunRecord{History: history, Definition: labelled, Report: rules.MakeReport("run", history, last), At: last})
	for _, l := range lines {
		fmt.Fprintf(&b, "%s%s %s%s", strings.Repeat("  ", l.Depth+1), l.At.Machine, l.Text, map[bool]string{true: "", false: " (" + string(l.Tone) + ")"}[l.Tone == web.Neutral])
		for _, text := range slices.Concat([]string{l.Detail}, l.Notes) {
			if text != "" {
				b.WriteString(" | " + text)
			}
		}
		b.WriteByte('\n')
	}
	for _, branch := range branches {
		fmt.Fprintf(&b, "  %s %s -> %s | %s\n", branch.At.Machine, branch.Branch, branch.To, branch.When)
	}
	return strings.NewReplacer("\u2068", "", "\u2069", "").Replace(b.String())
}

// The line of a visit has the tone of what the group had come to then.
func TestAnEarlierVisitOfAFlaggedGroupIsAmber(t *testing.T) {
	s, _ := keyed(t)
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	history, confirms := []rules.Event{{At: at, Fact: rules.Started{}}}, true
	for visit, data := range []string{`{}`, `{"analysis_ok":false}`, `{}`} {
		for _, f := range []rules.Fact{
			rules.GroupBegan{Node: "owners", Type: workflow.NodeChecks, Label: "Owners", Visit: visit + 1},
			rules.Dispatched{Node: "owners.court", Label: "Court", Provider: "source", Dispatch: visit + 1, Visit: visit + 1},
			rules.ResultRecorded{Node: "owners.court", Passed: true, Data: verification.Data(data), Confirms: &confirms},
			rules.GroupDecided{Node: "owners", Type: workflow.NodeChecks, Passed: true},
		} {
			at = at.Add(time.Second)
			history = append(history, rules.Event{At: at, Fact: f})
		}
	}
	var met []string
	for line := range strings.Lines(timeline(s, history)) {
		if _, after, ok := strings.Cut(line, "timeline.met: "); ok {
			met = append(met, strings.TrimSpace(after))
		}
	}
	if want := []string{"Owners: passed. (good)", "Owners: passed. (warning)", "Owners: passed. (warning)"}; !slices.Equal(met, want) { // what was flagged once stays so
		t.Errorf("the visits are told as %q, want %q", met, want)
	}
}

func TestTheTimelineOfEveryRecordedHistory(t *testing.T) {
	s, keys := keyed(t)
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	histories := map[string][]rules.Event{
		"opted_out": {
			{At: at, Fact: rules.CustomerAwaited{Node: "photo", Type: workflow.NodeCustomerInput, Label: "Photo"}},
			{At: at, Fact: rules.DocumentUploaded{Node: "photo", Field: "front"}},
			{At: at, Fact: rules.CustomerSubmitted{Node: "photo", Data: verification.Data(`{"opted_out":true}`)}},
		},
		"doubted_at_first": {
			{At: at, Fact: rules.Dispatched{Node: "pan", Label: "PAN", Provider: "source", Dispatch: 1, Visit: 1}},
			{At: at, Fact: rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"analysis_ok":false}`)}},
			{At: at, Fact: rules.Dispatched{Node: "pan", Label: "PAN", Provider: "source", Dispatch: 1, Visit: 2}},
			{At: at, Fact: rules.ResultRecorded{Node: "pan", Passed: true}},
			{At: at, Fact: rules.Skipped{Node: "owners[2].court"}}, // it has no label of its own
		},
		"polled": {
			{At: at, Fact: rules.Dispatched{Node: "pan", Label: "PAN", Provider: "source", Dispatch: 1, Visit: 1}},
			{At: at.Add(1 * time.Minute), Fact: rules.ResultPending{Node: "pan", PollAt: at.Add(2 * time.Minute)}},
			{At: at.Add(2 * time.Minute), Fact: rules.ResultPending{Node: "pan", PollAt: at.Add(3 * time.Minute)}},
			{At: at.Add(3 * time.Minute), Fact: rules.PollFailed{Node: "pan", Cause: "timeout"}},
			{At: at.Add(4 * time.Minute), Fact: rules.PollFailed{Node: "pan", Cause: "refused"}},
			{At: at.Add(5 * time.Minute), Fact: rules.ResultPending{Node: "pan"}},
		},
	}
	files, err := filepath.Glob("../../../../verification/rules/testdata/histories/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recorded histories: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for line := range bytes.Lines(raw) {
			var e rules.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			histories[name] = append(histories[name], e)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(histories)) {
		b.WriteString(name + "\n" + timeline(s, histories[name]))
	}
	golden.Equal(t, "testdata/timelines.txt", []byte(b.String()))
	for _, key := range keys {
		message, _, _ := strings.Cut(key, " (") // one form of a count is enough
		if !strings.Contains(b.String(), message+": ") && !strings.Contains(b.String(), message+" (") {
			t.Errorf("no recorded history has a line with the message %s", key)
		}
	}
}
