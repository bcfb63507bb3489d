package rules_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification/rules"
)

// recorded reads the histories of testdata/histories: JSON, an event a line,
// as some version of this package wrote them. Add files and never edit one:
// databases have such histories.
func recorded(t testing.TB) map[string][]rules.Event {
	t.Helper()
	files, err := filepath.Glob("testdata/histories/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recorded histories: %v", err)
	}
	histories := map[string][]rules.Event{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var e rules.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			again, err := rules.EncodeEvent(e)
			if err != nil || string(again) != strings.TrimSpace(string(line)) {
				t.Errorf("%s: an event is written otherwise today, so that digests change:\n%s\nwas\n%s", file, again, line)
			}
			histories[file] = append(histories[file], e)
		}
	}
	return histories
}

func TestRecordedHistoriesFoldForEver(t *testing.T) {
	for file, history := range recorded(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			last := history[len(history)-1].At
			later := last.Add(30 * 24 * time.Hour)
			run := rules.Fold(flows.RunID, history)
			reading := struct {
				Summary rules.Summary
				Then    rules.RunDetail // right after the last event
				Later   rules.RunDetail // a month after it
				Report  rules.Report    // a month after it
			}{run.Summary(), run.Detail(last), run.Detail(later), rules.MakeReport(flows.RunID, history, later)}
			raw, err := json.MarshalIndent(reading, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, strings.TrimSuffix(file, ".jsonl")+".golden.json", append(raw, '\n'))
			for _, now := range []time.Time{last, later} {
				consistent(t, &journey{t: t, run: run, history: history, now: now})
			}
		})
	}
}

func TestRecordedHistoriesHaveEventsOfEveryKind(t *testing.T) {
	missing := allFacts()
	for _, history := range recorded(t) {
		for _, e := range history {
			delete(missing, e.Kind())
		}
	}
	for kind := range missing {
		t.Errorf("no recorded history has an event %s", kind)
	}
}
