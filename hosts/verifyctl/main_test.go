package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// transcript runs one command line without a database and returns its output.
func transcript(ctx context.Context, args ...string) string {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, bare(&stdout, &stderr))
	return written(strings.Join(args, " "), stdout.String(), stderr.String(), code)
}

func TestTheCommandsPrintWhatTheyAlwaysPrinted(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, tt := range []struct{ name, args string }{
		{"help", "--help"},
		{"workflow-help", "workflow --help"},
		{"validate-help", "workflow validate --help"},
		{"graph-help", "workflow graph --help"},

		{"validate", "workflow validate testdata/onboarding.yaml testdata/screening.json"},
		{"validate-json", "workflow validate --json testdata/onboarding.yaml"},
		{"validate-meaning", "workflow validate testdata/meaning.yaml"},
		{"validate-form", "workflow validate testdata/form.yaml"},
		{"validate-many-json", "workflow validate --json testdata/form.yaml testdata/onboarding.yaml testdata/meaning.yaml"},
		{"validate-providers", "workflow validate testdata/screening.json --providers http,offline"},
		{"validate-providers-known", "workflow validate testdata/screening.json --providers http,sandbox"},
		{"validate-absent", "workflow validate testdata/absent.yaml"},
		{"validate-doubts", "workflow validate testdata/doubts.yaml"},
		{"validate-doubts-json", "workflow validate --json testdata/doubts.yaml"},
		{"validate-strict", "workflow validate --strict testdata/doubts.yaml testdata/onboarding.yaml"},
		{"validate-unmeant", "workflow validate testdata/unmeant.yaml"},
		{"validate-lists", "workflow validate --lists fictional,sanctions testdata/lists.yaml"},
		{"validate-bootstrap", "workflow validate --bootstrap testdata/bootstrap-lists.yaml testdata/lists.yaml"},
		{"validate-missing", "workflow validate testdata/none.yaml testdata/onboarding.yaml testdata/form.yaml"},
		{"validate-missing-json", "workflow validate --json testdata/none.yaml testdata/neither.yaml"},
		{"validate-nothing", "workflow validate"},

		{"graph", "workflow graph testdata/onboarding.yaml"},
		{"graph-dot", "workflow graph --format dot testdata/onboarding.yaml"},
		{"graph-meaning", "workflow graph testdata/meaning.yaml"},
		{"graph-form", "workflow graph testdata/form.yaml"},
		{"graph-missing", "workflow graph testdata/none.yaml"},
		{"graph-svg", "workflow graph testdata/onboarding.yaml --svg"},
		{"graph-format", "workflow graph testdata/onboarding.yaml --format png"},
		{"graph-two-formats", "workflow graph --svg --format dot testdata/onboarding.yaml"},
		{"graph-two", "workflow graph testdata/onboarding.yaml testdata/screening.json"},

		{"diff", "workflow diff testdata/onboarding.yaml testdata/onboarding-2.yaml"},
		{"diff-json", "workflow diff --json testdata/onboarding.yaml testdata/onboarding-2.yaml"},
		{"diff-same", "workflow diff testdata/onboarding.yaml testdata/onboarding.yaml"},
		{"diff-form", "workflow diff testdata/onboarding.yaml testdata/form.yaml"},
		{"diff-missing", "workflow diff testdata/none.yaml testdata/onboarding.yaml"},

		{"report", "report verify testdata/report/report.pdf testdata/report/report.pdf.jws --keys testdata/report/jwks.json"},
		{"report-changed", "report verify testdata/report/changed.pdf testdata/report/report.pdf.jws --keys testdata/report/jwks.json"},
		{"report-key", "report verify testdata/report/report.pdf testdata/report/report.pdf.jws --keys testdata/report/other.json"},
		{"report-neither", "report verify testdata/report/report.pdf testdata/report/changed.pdf --keys testdata/report/jwks.json"},
		{"report-no-keys", "report verify testdata/report/report.pdf testdata/report/report.pdf.jws --keys testdata/report/report.pdf"},
		{"report-missing", "report verify testdata/report/none.pdf testdata/report/report.pdf.jws --keys testdata/report/jwks.json"},

		{"nothing", ""},
		{"unknown", "workflw validate"},
		{"unknown-below", "account disabel acme"},
		{"nothing-below", "account disable"},
		{"unknown-flag", "workflow validate --jsn testdata/onboarding.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := transcript(t.Context(), strings.Fields(tt.args)...)
			golden.Equal(t, "testdata/transcripts/"+tt.name+".txt", []byte(got))
		})
	}
}

func TestTheTableOfEventsSaysWhatHappened(t *testing.T) {
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		fact rules.Fact
		want string
	}{
		{rules.CallbackReceived{Node: "pan", Digest: "d"}, "pan, polled at once"},
		{rules.PollFailed{Node: "pan", Cause: "timeout", PollAt: at}, "pan, next poll at 2026-01-05T09:00:00Z: timeout"},
		{rules.DispatchFailed{Node: "pan", Cause: "timeout"}, "pan, no retry: timeout"},
		{rules.ResultUnavailable{Node: "pan"}, "pan: unavailable"},
		{rules.JourneyOpened{Node: "consent"}, "consent"},
		{rules.DocumentUploaded{Node: "card", Field: "front", MediaType: "image/png", Size: 12}, "card, image/png, 12 bytes for front"},
		{rules.VerdictRecorded{Decision: "approve"}, "approve"},
		{rules.VerdictRecorded{Decision: "approve", By: "asha", Identity: "asha", Node: "review"}, "approve by asha on review"},
		{rules.VerdictProposed{Decision: "reject", By: "asha", Identity: "id 7", Node: "review"}, "reject by asha (id 7) on review"},
		{rules.ProposalReturned{By: "ben"}, "sent back by ben"},
		{rules.HitsFound{Node: "pep", List: "sanctions", ListVersion: "0123456789abcdef", Hits: []verification.Hit{{}}}, "pep, 1 in version 0123456789ab of sanctions"},
		{rules.HitDecided{Node: "pep", List: "sanctions", Entry: "e-1", Match: rules.MatchOther, By: "asha"}, "pep, e-1 of sanctions: other by asha"},
		{rules.Completed{Node: "done"}, "done: end"},
		{rules.Completed{Node: "done", Outcome: "declined"}, "done: end declined"},
		{rules.Failed{Node: "pan", Error: rules.RunError{Code: "CHECK_FAILED", Check: "pan"}, Cause: "timeout"}, "pan: CHECK_FAILED pan: timeout"},
		{rules.Expired{Error: rules.RunError{Code: "LINK_EXPIRED"}}, "expired: LINK_EXPIRED"},
		{rules.GroupDecided{Node: "checks", Type: "checks"}, "checks: not met"},
		{rules.NoAnswer{Node: "pan", Outcome: "no_coverage"}, "pan: no_coverage"},
		{rules.Redirected{Node: "kyc", URL: "https://vendor.example/s?t=secret"}, "kyc: the customer is led to vendor.example"},
	} {
		if got, path := describe(rules.Event{Fact: tt.fact}), tell(rules.Event{Fact: tt.fact}).text; got != tt.want || strings.HasSuffix(path, " by ") {
			t.Errorf("describe(%T) = %q, want %q; a path says %q", tt.fact, got, tt.want, path)
		}
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	want := "$ verifyctl --version\nverifyctl " + cli.ReadBuild().String() + "\nexit 0\n"
	if diff := cmp.Diff(want, transcript(t.Context(), "--version")); diff != "" {
		t.Errorf("transcript differs (-want +got):\n%s", diff)
	}
}

func TestTheProblemsAreTheSameInJSON(t *testing.T) {
	files := []string{"testdata/form.yaml", "testdata/meaning.yaml"}
	lines := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append(append([]string{"workflow", "validate"}, args...), files...), bare(&stdout, &stderr))
		const note = "verifyctl: testdata/form.yaml: 3 problems of form; the meaning was not checked\n"
		if code != exitProblems || stderr.String() != note {
			t.Fatalf("validate %v = %d, %s; want %d", args, code, &stderr, exitProblems)
		}
		return stdout.String()
	}
	var problems []problemJSON
	if err := json.Unmarshal([]byte(lines("--json")), &problems); err != nil {
		t.Fatalf("the output is not JSON: %v", err)
	}
	var fromJSON strings.Builder
	for _, f := range problems {
		fmt.Fprintf(&fromJSON, "%s:%d:%d: %s: %s\n", f.File, f.Line, f.Column, f.Field, f.Message)
	}
	if diff := cmp.Diff(lines(), fromJSON.String()); diff != "" {
		t.Errorf("problems differ (-text +json):\n%s", diff)
	}
}

func TestProblemsBeyondTheListAreCounted(t *testing.T) {
	var nodes strings.Builder
	for i := range 167 {
		fmt.Fprintf(&nodes, "  n%d: {type: end, a: 1, b: 2, c: 3}\n", i)
	}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte("workflow: w\nname: W\nstart: n0\nnodes:\n"+nodes.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	run(t.Context(), []string{"workflow", "validate", "--json", file}, bare(&stdout, &stderr))
	var problems []problemJSON
	if err := json.Unmarshal(stdout.Bytes(), &problems); err != nil {
		t.Fatalf("the output is not JSON: %v, %s", err, &stderr)
	}
	if last := problems[len(problems)-1]; len(problems) != 501 || last != (problemJSON{File: file, Message: "and 1 more problems"}) {
		t.Errorf("%d problems, the last %+v; want 500 and the number of the others", len(problems), last)
	}
}

func TestMermaidIsTheDefaultFormat(t *testing.T) {
	drawn := func(args ...string) string {
		_, out, _ := strings.Cut(transcript(t.Context(), args...), "\n")
		return out
	}
	short := drawn("workflow", "graph", "testdata/onboarding.yaml")
	long := drawn("workflow", "graph", "testdata/onboarding.yaml", "--format", "mermaid")
	if diff := cmp.Diff(short, long); diff != "" {
		t.Errorf("graphs differ (-without +with --format mermaid):\n%s", diff)
	}
}

func TestADiffIsDrawn(t *testing.T) {
	got := transcript(t.Context(), "workflow", "diff", "--svg", "testdata/onboarding.yaml", "testdata/onboarding-2.yaml")
	for _, want := range []string{"<svg ", ">added<", ">removed<", ">changed<", "exit 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
}

func TestAnInterruptedCommandExaminesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := transcript(ctx, "workflow", "validate", "testdata/onboarding.yaml")
	want := "$ verifyctl workflow validate testdata/onboarding.yaml\nstderr: verifyctl: context canceled\nexit 2\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript differs (-want +got):\n%s", diff)
	}
}

func TestTheFileOfSettingsNamesTheFolder(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "verifyd.yaml")
	if err := os.WriteFile(file, []byte("data_dir: "+filepath.Join(folder, "absent")+"\naddr: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, want, _ := command(t, map[string]string{"VERIFYD_DATA_DIR": filepath.Join(folder, "absent")}, "tenant", "list")
	if _, got, code := command(t, map[string]string{"VERIFYD_CONFIG": file}, "tenant", "list"); got != want || code != exitUsage {
		t.Errorf("with the file = %d %s, want %s", code, got, want)
	}
	if _, got, _ := command(t, map[string]string{"VERIFYD_CONFIG": file, "VERIFYD_DATA_DIR": filepath.Join(folder, "other")}, "tenant", "list"); got == want {
		t.Errorf("with a variable = %s, want the variable to come before the file", got)
	}
	if _, got, code := command(t, map[string]string{"VERIFYD_CONFIG": file + "l"}, "tenant", "list"); code != exitUsage || !strings.HasPrefix(got, "verifyctl: --config (VERIFYD_CONFIG): open "+file) {
		t.Errorf("without the file = %d %s, want its name", code, got)
	}
}
