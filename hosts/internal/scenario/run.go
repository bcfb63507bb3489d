// Running conversations.

package scenario

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

// Runner runs conversations against a host.
type Runner struct {
	// Host starts a new host for one conversation, which stops with the test.
	Host func(t testing.TB) Host
	// Contract checks every response.
	Contract *openapitest.Contract

	mu   sync.Mutex
	seen map[string]bool
}

// Run runs every conversation of a folder as a subtest.
func (r *Runner) Run(t *testing.T, files fs.FS) {
	t.Helper()
	all, err := fs.Glob(files, "*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, name := range all {
		t.Run(strings.TrimSuffix(path.Base(name), ".txtar"), func(t *testing.T) {
			raw, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := parse(raw)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r.talk(t, name, c)
		})
	}
}

// talk runs the steps in order until one fails.
func (r *Runner) talk(t *testing.T, name string, c conversation) {
	t.Helper()
	client := newClient(t, r.Host(t), r.Contract, r.note)
	for _, s := range c.steps {
		passed := t.Run(s.name, func(t *testing.T) {
			for _, i := range s.items {
				if err := client.do(t.Context(), i); err != nil {
					t.Fatalf("%s:%d: %v", name, i.line(), err)
				}
			}
			if err := client.Consistent(t.Context()); err != nil {
				t.Fatalf("%s: after %q: %v", name, s.name, err)
			}
		})
		if !passed {
			t.Fatalf("%s stops here", name)
		}
	}
}

func (r *Runner) note(operation string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[operation+" "+strconv.Itoa(status)] = true
}

// Unseen returns the documented responses that no conversation has had yet, such as
// "GET /v1/runs 503".
func (r *Runner) Unseen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var unseen []string
	for _, operation := range r.Contract.Operations() {
		for _, status := range r.Contract.Statuses(operation) {
			if !r.seen[operation+" "+status] {
				unseen = append(unseen, operation+" "+status)
			}
		}
	}
	slices.Sort(unseen)
	return unseen
}
