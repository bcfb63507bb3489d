package verification_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestARetentionHasProblems(t *testing.T) {
	problem := func(name, message string) []verification.FieldError {
		return []verification.FieldError{{Name: name, Message: message}}
	}
	for _, row := range []struct {
		name string
		r    verification.Retention
		want []verification.FieldError
	}{
		{"nothing set", verification.Retention{}, nil},
		{"all set", verification.Retention{KeepDays: 1, DocumentsAfterDays: 1, RedactAfterDays: 2, DeleteAfterDays: 3, From: "start"}, nil},
		{"the longest", verification.Retention{KeepDays: 36500, RedactAfterDays: 36500, DeleteAfterDays: 36500, DocumentsAfterDays: 36500, From: "end"}, nil},
		{"documents go after a redaction", verification.Retention{DocumentsAfterDays: 9, RedactAfterDays: 2}, nil},
		{"a negative minimum", verification.Retention{KeepDays: -1}, problem("keep_days", "must be 0 to 36500")},
		{"a long minimum", verification.Retention{KeepDays: 36501}, problem("keep_days", "must be 0 to 36500")},
		{"a negative time", verification.Retention{RedactAfterDays: -1}, problem("redact_after_days", "must be 0 to 36500")},
		{"a long time", verification.Retention{DeleteAfterDays: 36501}, problem("delete_after_days", "must be 0 to 36500")},
		{"a redaction within the minimum", verification.Retention{KeepDays: 1825, RedactAfterDays: 30}, problem("redact_after_days", "is 30, below the minimum: keep_days is 1825")},
		{"a deletion within the minimum", verification.Retention{KeepDays: 2, DeleteAfterDays: 1}, problem("delete_after_days", "is 1, below the minimum: keep_days is 2")},
		{"documents within the minimum", verification.Retention{KeepDays: 2, DocumentsAfterDays: 1}, problem("documents_after_days", "is 1, below the minimum: keep_days is 2")},
		{"a redaction after the deletion", verification.Retention{RedactAfterDays: 9, DeleteAfterDays: 8}, problem("redact_after_days", "is 9, but the run is deleted before: delete_after_days is 8")},
		{"documents after the deletion", verification.Retention{DocumentsAfterDays: 9, DeleteAfterDays: 8}, problem("documents_after_days", "is 9, but the run is deleted before: delete_after_days is 8")},
		{"another start", verification.Retention{From: "middle"}, problem("from", "must be end or start")},
		{"several problems", verification.Retention{KeepDays: -1, From: "x"}, append(problem("keep_days", "must be 0 to 36500"), problem("from", "must be end or start")...)},
	} {
		if diff := cmp.Diff(row.want, row.r.Problems()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestARetentionIsMerged(t *testing.T) {
	type r = verification.Retention
	for _, row := range []struct {
		name                   string
		tenant, workflow, want r
	}{
		{"neither", r{}, r{}, r{}},
		{"only the tenant", r{KeepDays: 1, RedactAfterDays: 2, DeleteAfterDays: 4, DocumentsAfterDays: 3, From: "start"}, r{}, r{KeepDays: 1, RedactAfterDays: 2, DeleteAfterDays: 4, DocumentsAfterDays: 3, From: "start"}},
		{"only the workflow", r{}, r{KeepDays: 1, RedactAfterDays: 2, DeleteAfterDays: 4, DocumentsAfterDays: 3, From: "start"}, r{KeepDays: 1, RedactAfterDays: 2, DeleteAfterDays: 4, DocumentsAfterDays: 3, From: "start"}},
		{"the tenant's minimum is larger", r{KeepDays: 9}, r{KeepDays: 5}, r{KeepDays: 9}},
		{"the workflow's minimum is larger", r{KeepDays: 5}, r{KeepDays: 9}, r{KeepDays: 9}},
		{"the workflow redacts earlier", r{RedactAfterDays: 9}, r{RedactAfterDays: 5}, r{RedactAfterDays: 5}},
		{"the workflow deletes later", r{DeleteAfterDays: 5}, r{DeleteAfterDays: 9}, r{DeleteAfterDays: 9}},
		{"the workflow's documents", r{DocumentsAfterDays: 5}, r{DocumentsAfterDays: 9}, r{DocumentsAfterDays: 9}},
		{"each field on its own", r{RedactAfterDays: 5, DeleteAfterDays: 9}, r{RedactAfterDays: 7}, r{RedactAfterDays: 7, DeleteAfterDays: 9}},
		{"the workflow counts from the start", r{RedactAfterDays: 5, From: "end"}, r{From: "start"}, r{RedactAfterDays: 5, From: "start"}},
		{"the tenant's minimum counts from the end", r{KeepDays: 5}, r{From: "start"}, r{KeepDays: 5}},
		{"the tenant's minimum counts from the start", r{KeepDays: 5, From: "start"}, r{From: "end"}, r{KeepDays: 5, From: "end"}},
	} {
		if diff := cmp.Diff(row.want, row.tenant.Merge(row.workflow)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestARetentionCountsDays(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ended := began.Add(36 * time.Hour)
	r := verification.Retention{KeepDays: 5, RedactAfterDays: 3, DeleteAfterDays: 10, DocumentsAfterDays: 7}
	for _, row := range []struct {
		name string
		at   func(verification.Retention) time.Time
		days int
	}{
		{"the minimum", func(r verification.Retention) time.Time { return r.KeptUntil(began, ended) }, 5},
		{"a redaction waits for the minimum", func(r verification.Retention) time.Time { return r.RedactAt(began, ended) }, 5},
		{"documents", func(r verification.Retention) time.Time { return r.DocumentsAt(began, ended) }, 7},
		{"a deletion", func(r verification.Retention) time.Time { return r.DeleteAt(began, ended) }, 10},
	} {
		days := time.Duration(row.days) * 24 * time.Hour
		if got, want := row.at(r), ended.Add(days); !got.Equal(want) {
			t.Errorf("%s from the end: %s, want %s", row.name, got, want)
		}
		started := r
		started.From = verification.RetentionFromStart
		if got, want := row.at(started), began.Add(days); !got.Equal(want) {
			t.Errorf("%s from the start: %s, want %s", row.name, got, want)
		}
		if got := row.at(verification.Retention{}); !got.IsZero() {
			t.Errorf("%s without a policy: %s, want never", row.name, got)
		}
	}
}
