// Tests of the commands about the audit trail.

package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestAuditListsAndExportsTheTrail(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "postgres": onPostgres, "folder": onFolder} {
		t.Run(name, func(t *testing.T) { auditIsShown(t, open(t)) })
	}
}

func auditIsShown(t *testing.T, w *world) {
	t.Helper()
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	if got := w.ctl("audit list --tenant TENANT --action person.searched --json"); !strings.Contains(got, "[]") {
		t.Errorf("audit list prints %q before a search", got)
	}
	id := string(w.given())
	w.ctl("run list --tenant TENANT --reference-id nobody-1")
	if got := w.ctl("audit export --tenant TENANT"); strings.Count(got, `"action":"person.searched"`) != 1 || strings.Contains(got, "nobody-1") {
		t.Errorf("audit export prints %q, want one search without its words", got)
	}
	w.ctl("run redact --tenant TENANT --reference nobody-2 --dry-run")
	if got := w.ctl("audit export --tenant TENANT"); strings.Count(got, `"action":"person.searched"`) != 2 || strings.Contains(got, "nobody-2") {
		t.Errorf("audit export prints %q, want two searches without their words", got)
	}
	w.ctl("run show " + id)
	list := w.ctl("audit list --tenant TENANT")
	if !strings.Contains(list, "run.read") || !strings.Contains(list, id) {
		t.Errorf("audit list prints %q, want the read of the run", list)
	}
	exported := w.ctl("audit export --tenant TENANT")
	if !strings.Contains(exported, `"action":"audit.exported"`) || !strings.Contains(exported, `"action":"run.read"`) {
		t.Errorf("audit export prints %q, want both entries", exported)
	}
	for _, line := range []string{"account create other --tenant TENANT", "account disable other", "account enable other", "token issue --tenant TENANT --reviewer asha"} {
		w.ctl(line)
	}
	list = w.ctl("audit list --tenant TENANT")
	for action, subject := range map[string]string{"account.created": "other", "account.disabled": "other", "account.enabled": "other", "token.issued": "asha"} {
		if !regexp.MustCompile(regexp.QuoteMeta(action) + `\b.*\b` + subject + `\b`).MatchString(list) {
			t.Errorf("audit list prints %q, want %s of %s", list, action, subject)
		}
	}
	if got := w.ctl("audit list --tenant TENANT --action run.held --json"); !strings.Contains(got, "[]") {
		t.Errorf("audit list --action run.held prints %q, want none", got)
	}
}

func TestWhatABootstrapFileChangesIsInTheTrail(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *world{"memory": onMemory, "postgres": onPostgres, "folder": onFolder} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
			w.ctl("apply testdata/bootstrap.yaml --dry-run")
			for range 2 { // the second changes nothing
				w.ctl("apply testdata/bootstrap.yaml")
			}
			said := w.ctl("audit list --tenant TENANT")
			for action, want := range map[string]int{"tenant.saved": 1, "account.created": 1, "workflow.saved": 2} {
				if got := strings.Count(said, action); got != want {
					t.Errorf("the trail has %s %d times, want %d:\n%s", action, got, want, said)
				}
			}
		})
	}
}
