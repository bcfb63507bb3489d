// The command that removes personal data.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type runRedact struct {
	RunID     runID  `arg:"" optional:"" help:"The run."`
	Reference string `placeholder:"ID" help:"All runs of the tenant with this reference id, in place of one run."`
	Person    string `placeholder:"NAME" help:"All runs of the tenant that are found by these words, as the search of the console finds them."`
	Born      string `placeholder:"DATE" help:"With --person: only runs with this date, such as 1990-01-31."`
	DryRun    bool   `help:"Only list the runs."`
	Yes       bool   `help:"Do not ask before several runs are redacted."`
	searchKeyFlags
	tenantFlags
	jsonFlag
}

// searchKeyFlags have the key by which people are found. A data folder has its own.
type searchKeyFlags struct {
	SearchKey     string `placeholder:"KEY" variable:"VERIFYD_SEARCH_KEY" help:"The search key of the hosts, for --person; use the variable. A data folder has its own."`
	SearchKeyFile string `placeholder:"FILE" variable:"VERIFYD_SEARCH_KEY_FILE" help:"File with the search key."`
}

// searchChecker is a database whose hosts share a search key.
type searchChecker interface {
	SearchCheck(ctx context.Context, check string) (string, error)
}

// read sets the search key of a database, which may be missing unless it is required. A key that is not the one of the hosts
// finds nobody, so it is refused.
func (f searchKeyFlags) read(ctx context.Context, flags databaseFlag, db *database, required bool) error {
	keys := folderKeys{flags.DataDir}
	switch {
	case f.SearchKey != "":
		db.searchKey = []byte(f.SearchKey)
	case f.SearchKeyFile != "":
		key, err := cli.ReadValue(f.SearchKeyFile)
		if err != nil {
			return fmt.Errorf("%s: %w", cli.Setting("search-key-file"), err)
		}
		db.searchKey = []byte(key)
	case flags.DataDir != "":
		key, _, err := keys.search(ctx)
		if err != nil {
			return err
		}
		db.searchKey = key
	}
	switch {
	case db.searchKey == nil && !required:
		return nil
	case db.searchKey == nil:
		return fmt.Errorf("%s: required with --person: without the key of the hosts, no run is found by a person", cli.Setting("search-key"))
	}
	first, err := "", error(nil)
	if shared, ok := db.Store.(searchChecker); ok {
		first, err = shared.SearchCheck(ctx, "")
	} else if flags.DataDir != "" {
		_, first, err = keys.search(ctx)
	}
	if err == nil && first != "" && first != cli.SearchCheck(db.searchKey) {
		err = fmt.Errorf("%s: the hosts had another key first: no run would be found by it", cli.Setting("search-key"))
	}
	return err
}

// check returns what is wrong with the flags that do not depend on data.
func (c runRedact) check() error {
	given := 0
	for _, text := range []string{string(c.RunID.RunID), c.Reference, c.Person} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("RUN, --reference, --person: exactly one of them is required")
	case c.RunID.RunID != "" && (c.DryRun || c.Yes):
		return errors.New("--dry-run, --yes: only with --reference or --person")
	case c.Reference != "" && rules.ValidateReferenceID(c.Reference) != nil:
		return errors.New("--reference: must have 1 to 255 characters and no control characters")
	case c.Reference == rules.RedactedReference:
		return errors.New("--reference: redacted runs of several people have this reference id: give a run by its id")
	case c.Born != "" && c.Person == "":
		return errors.New("--born: only with --person")
	case c.JSON && given == 1 && c.RunID.RunID == "" && !c.Yes && !c.DryRun:
		return errors.New("--json: needs --yes or --dry-run, because the command asks otherwise")
	}
	if _, err := time.Parse(time.DateOnly, c.Born); c.Born != "" && err != nil {
		return errors.New("--born: must be a date such as 1990-01-31")
	}
	return nil
}

// Run redacts the run or runs. A host removes their documents.
func (c runRedact) Run(ctx context.Context, s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.RunID.RunID != "" {
		return c.change(ctx, s, c.RunID, func(e *engine.Engine, t verification.TenantID, id verification.RunID) error {
			left, err := e.Redact(ctx, t, id, "", s.operator)
			if err != nil {
				return err
			}
			shown := apitypes.NewRunDetail(left)
			return s.say(c.JSON, shown, "run %s: personal data was removed at %s", id, shown.RedactedAt)
		})
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		if err := c.read(ctx, c.databaseFlag, db, c.Person != ""); err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		return c.redactFound(ctx, s, e, t.ID)
	})
}

// errDryRun ends a command that only lists runs.
var errDryRun = errors.New("dry run")

// redactedRun is what became of a run.
type redactedRun struct {
	ID       verification.RunID `json:"id"`
	Redacted bool               `json:"redacted"`
	Reason   string             `json:"reason,omitempty"` // why it is not
}

func (c runRedact) redactFound(ctx context.Context, s *session, e *engine.Engine, t verification.TenantID) error {
	q := store.RunQuery{ReferenceID: c.Reference}
	if c.Person != "" {
		if q.Keys = e.SearchKeys(t, facts.ParseSearch(c.Person+" "+c.Born)); len(q.Keys) == 0 {
			return errors.New("--person: has no words")
		}
	}
	all, err := e.RedactRuns(ctx, t, q, s.operator, func(found []rules.Summary, left []engine.RunRedaction) error {
		return c.confirm(s, found, left)
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	if err != nil && len(all) == 0 {
		return err
	}
	lines, refused := []redactedRun{}, false
	for _, one := range all {
		line := redactedRun{ID: one.Run, Redacted: one.Err == nil}
		if one.Err != nil {
			line.Reason, refused = reasonOf(one), true
		}
		lines = append(lines, line)
	}
	if c.JSON {
		err = errors.Join(s.json(lines), err)
		lines = nil
	}
	for _, line := range lines {
		text := "personal data was removed"
		if !line.Redacted {
			text = "not redacted: " + line.Reason
		}
		if err := s.say(false, nil, "run %s: %s", line.ID, oneLine(text)); err != nil {
			return err
		}
	}
	if err == nil && refused {
		err = errProblems
	}
	return err
}

// reasonOf says why a run is not redacted.
func reasonOf(r engine.RunRedaction) string { return strings.TrimPrefix(r.Err.Error(), "run: ") }

// foundRun is a run that is found, and why it is not redacted if it is not.
type foundRun struct {
	apitypes.Run
	Reason string `json:"reason,omitempty"`
}

// confirm lists the runs, and asks whether they are meant.
func (c runRedact) confirm(s *session, found []rules.Summary, left []engine.RunRedaction) error {
	switch {
	case len(found) == 0 && c.Person != "":
		return notFound("run", "no run of the tenant is found by these words")
	case len(found) == 0:
		return notFound("run", "no run of the tenant has this reference id (see verifyctl run list --reference-id)")
	case c.JSON && c.Yes:
		return nil
	}
	now := s.clock.Now().UTC()
	reasons := map[verification.RunID]string{}
	for _, one := range left {
		reasons[one.Run] = reasonOf(one)
	}
	runs := mapSlice(found, func(r rules.Summary) foundRun { return foundRun{apitypes.NewRun(r.View(now)), reasons[r.ID]} })
	if err := printList(s, c.JSON, runs, "ID REFERENCE_ID STATUS STARTED_AT COMPLETED_AT REASON"); err != nil {
		return err
	}
	switch {
	case c.DryRun:
		return errDryRun
	case c.Yes:
		return nil
	}
	but := ""
	if len(left) > 0 {
		but = fmt.Sprintf(", but for the %d with a reason", len(left))
	}
	fmt.Fprintf(s.stderr, "The personal data of the runs above (%d) is removed for good%s. Type yes to go on:\n", len(found)-len(left), but)
	answer, _ := bufio.NewReader(s.stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was redacted: the answer was not yes (--yes does not ask)")
	}
	return nil
}
