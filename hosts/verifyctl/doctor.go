// The command that looks for problems.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type doctor struct {
	databaseFlag
	Counts bool `help:"Also count all runs and compare with the totals of lists. This reads every run."`
	jsonFlag
}

// doctorTimeout bounds each of the first calls of the database.
const doctorTimeout = 10 * time.Second

func (c doctor) Run(ctx context.Context, s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.DataDir != "" && c.Counts {
		return errors.New("--counts: only for PostgreSQL: the lists of a data folder count the runs themselves")
	}
	var found []finding
	if s.build != (cli.Build{}) {
		found = append(found, ok("version", "verifyctl "+s.build.String()))
	}
	if c.DataDir != "" {
		found = append(found, s.examineFolder(ctx, c.DataDir)...)
	} else {
		found = append(found, s.examine(ctx, c.DatabaseURL, c.Counts)...)
	}
	return s.report(ctx, found, c.JSON)
}

// report prints findings.
func (s *session) report(ctx context.Context, found []finding, asJSON bool) error {
	err := ctx.Err()
	if err != nil {
		return err
	}
	if asJSON {
		err = s.json(found)
	} else {
		err = s.table([]string{"STATUS", "CHECK", "MESSAGE"}, mapSlice(found, finding.row))
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.Status == healthFail }) {
		return errProblems
	}
	return nil
}

// examine returns the findings so far when the database cannot be examined further.
func (s *session) examine(ctx context.Context, url string, counts bool) []finding {
	listing, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	steps, err := s.server.migrations(listing, url)
	if err != nil {
		return []finding{unreachable(err)}
	}
	schema := migrated(steps)
	if schema.Status == healthFail {
		return []finding{ok("connection", "the database answers"), schema}
	}
	opening, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	db, err := s.server.open(opening, url)
	if err != nil {
		return []finding{unreachable(err), schema}
	}
	defer func() { _ = db.close() }() // it was only read
	st, err := s.state(ctx, db)
	if err != nil {
		return []finding{unreachable(err), schema}
	}
	found := []finding{
		ok("connection", "PostgreSQL "+st.ServerVersion), schema, alive(st.hosts),
		judged("role", !st.BypassesRLS, "row-level security applies",
			healthWarn, "the role of the hosts bypasses row-level security", "use a role without SUPERUSER and BYPASSRLS"),
		skew(st.Health), connections(st.Health), addedUp(st.Health),
	}
	found = append(found, s.judge(ctx, db, st)...)
	if counts {
		found = append(found, totals(ctx, db)...)
	}
	return found
}

// state is what a database or a data folder says about itself.
type state struct {
	pgadmin.Health

	hosts  []pgadmin.Host
	passes []store.RescreenPass
}

func (s *session) state(ctx context.Context, db *database) (st state, err error) {
	if st.Health, err = db.Health(ctx, s.clock.Now); err != nil {
		return st, err
	}
	if st.hosts, err = db.Hosts(ctx); err != nil {
		return st, err
	}
	st.hosts = asDoctor(st.hosts)
	st.passes, err = db.tables().RescreenPasses(ctx)
	return st, err
}

// judge reports whether the work goes on, and whether hosts and bootstrap file fit.
func (s *session) judge(ctx context.Context, db *database, st state) []finding {
	h := st.Health
	found := []finding{
		level(st),
		judged("work", h.LateWork == 0, "no work is late", healthFail,
			fmt.Sprintf("%d late by more than %s, the oldest by %s", h.LateWork, pgadmin.LateAfter, s.clock.Now().Sub(h.OldestDue).Round(time.Second)),
			"check that hosts with the role worker run and are not saturated (VERIFYD_WORKERS), and read their logs"),
		judged("leases", h.RepeatedlyLost == 0, "no work has lost two leases in a row",
			healthWarn, fmt.Sprintf("%d runs or notices lost two leases or more in a row", h.RepeatedlyLost),
			"check whether hosts were killed or ran out of memory; each of these runs waits for a host that has run for some seconds, which then executes it alone; "+
				"a run whose host stops twice while it executes nothing else ends with INTERNAL_ERROR"),
		judged("expiry", h.OverdueRuns == 0, "every expired run is recorded",
			healthFail, fmt.Sprintf("%d runs expired and their clients were not notified", h.OverdueRuns),
			"check that hosts with the role worker run, and read their logs"),
		judged("deliveries", h.FailedDeliveries == 0, fmt.Sprintf("%d wait for a retry", h.PendingDeliveries),
			healthWarn, fmt.Sprintf("%d have no attempt left, %d wait for a retry", h.FailedDeliveries, h.PendingDeliveries),
			"see verifyctl webhook list --state failed; then run verifyctl webhook redeliver --all-failed"),
		rescreening(st.passes, s.clock.Now()), ends(ctx, db, s.clock.Now()),
	}
	found = append(found, s.backedUp(ctx, db))
	found = append(found, clients(st.hosts)...)
	found = append(found, searching(st.hosts)...)
	found = append(found, screeningLists(st.hosts)...)
	found = append(found, erasing(st.hosts)...)
	found = append(found, s.retaining(ctx, db, st.hosts)...)
	found = append(found, hostDifferences(st.hosts)...)
	return append(found, s.bootstrap(ctx, db, st.hosts)...)
}

type finding struct {
	Check   string `json:"check"`
	Status  health `json:"status"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"` // what to do
}

type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn"
	healthFail health = "fail"
)

func ok(check, message string) finding {
	return finding{Check: check, Status: healthOK, Message: message}
}

func warning(check, message, advice string) finding {
	return finding{Check: check, Status: healthWarn, Message: message, Advice: advice}
}

func failed(check, message, advice string) finding {
	return finding{Check: check, Status: healthFail, Message: message, Advice: advice}
}

// judged returns that a check is ok if good, and otherwise what is wrong.
func judged(check string, good bool, fine string, otherwise health, message, advice string) finding {
	if good {
		return ok(check, fine)
	}
	return finding{check, otherwise, message, advice}
}

func (f finding) row() []string {
	message := f.Message
	if f.Advice != "" {
		message += "; " + f.Advice
	}
	return []string{string(f.Status), f.Check, message}
}

// unreachable says why the database could not be examined. An error with which the
// database answered is no problem of the connection.
func unreachable(err error) finding {
	switch {
	case errors.Is(err, verification.ErrConflict): // it says what to do
		return failed("database", pgerror.Explain(err).Error(), "")
	case pgerror.Answered(err):
		return failed("database", pgerror.Explain(err).Error(),
			"the connection works: compare the version of this verifyctl with the versions of the hosts (verifyctl host list), and check the privileges of the role")
	}
	return failed("connection", pgerror.Explain(err).Error(), "check that the server runs, and check address, role and password")
}

func migrated(steps []pgschema.Migration) finding {
	if other := slices.DeleteFunc(slices.Clone(steps), func(m pgschema.Migration) bool { return !m.Differs }); len(other) > 0 {
		return failed("migrations", "another build of verifyd made this database: it has another content of "+strings.Join(mapSlice(other, nameOf), ", "),
			"use the build that made it, or an empty database")
	}
	lacking := missing(steps)
	if len(lacking) == 0 && len(steps) > 0 {
		return ok("migrations", "the newest is "+nameOf(steps[len(steps)-1]))
	}
	return failed("migrations", "missing: "+strings.Join(mapSlice(lacking, nameOf), ", "), "run verifyctl migrate up")
}

// The clock skew at which hosts disturb each other: a lease lasts 20 s.
const (
	warnSkew = time.Second
	failSkew = 10 * time.Second
)

func skew(h pgadmin.Health) finding {
	by := h.ClockSkew.Abs().Round(time.Millisecond)
	const advice = "synchronize the clocks of the hosts and of the database"
	direction := "ahead of"
	if h.ClockSkew < 0 {
		direction = "behind"
	}
	message := fmt.Sprintf("the clock of the database is %s %s the clock of this machine", by, direction)
	switch {
	case by >= failSkew:
		return failed("clock", message, advice)
	case by >= warnSkew:
		return warning("clock", message, advice)
	}
	return ok("clock", "less than a second apart")
}

func connections(h pgadmin.Health) finding {
	message := fmt.Sprintf("%d of %d are in use", h.Connections, h.MaxConnections)
	const advice = "lower VERIFYD_DATABASE_CONNS of the hosts, or raise max_connections of the server"
	switch used := 100 * h.Connections; {
	case used >= 95*h.MaxConnections:
		return failed("connections", message, advice)
	case used >= 80*h.MaxConnections:
		return warning("connections", message, advice)
	}
	return ok("connections", message)
}

// maxMeasuresWait is how long measures may wait to be added up: workers do it every few seconds.
const maxMeasuresWait = 5 * time.Minute

// addedUp reports whether the measures of runs become numbers.
func addedUp(h pgadmin.Health) finding {
	const check = "numbers"
	switch {
	case h.MeasuresWait > maxMeasuresWait:
		return failed(check, fmt.Sprintf("what happened to runs has waited for %s to be added up, so the numbers are old", h.MeasuresWait.Round(time.Second)),
			"check that hosts with the role worker run, and read their logs for \"maintenance\"")
	case h.BrokenMeasures > 0:
		return warning(check, fmt.Sprintf("%d rows could not be added up and are missing in the numbers", h.BrokenMeasures),
			"see \"measures cannot be added up\" in the logs of the workers; the rows stay in measure_log with broken")
	}
	return ok(check, "they are added up")
}

// leftAfter is how long after the hold of a list its pass is reported: a host that has the
// list holds it again every minute.
const leftAfter = 5 * time.Minute

// rescreening reports whether the passes over lists go on.
func rescreening(passes []store.RescreenPass, now time.Time) finding {
	const check, advice = "rescreening", "check that a host with the role worker has the list, and read the logs of the hosts"
	var running []string
	for _, p := range passes {
		if !p.EndedAt.IsZero() {
			continue
		}
		running = append(running, p.List)
		if left := now.Sub(p.HeldUntil); left > leftAfter {
			return warning(check, fmt.Sprintf("completed runs are to be screened again against the list %s, which no host has held for %s", p.List, left.Round(time.Second)), advice)
		}
	}
	if len(running) > 0 {
		return ok(check, "completed runs are being screened again against "+strings.Join(running, ", "))
	}
	return ok(check, "no completed run waits to be screened again")
}

// backupAge is how old the last backup may be: one a day, and some time to make it.
const backupAge = 25 * time.Hour

// backedUp reports how old the last backup is.
func (s *session) backedUp(ctx context.Context, db *database) finding {
	const check, advice = "backup", "make one a day with verifyctl store backup, unless another program backs up the store"
	at, err := db.LastBackup(ctx)
	age := s.clock.Now().Sub(at)
	switch {
	case err != nil:
		return failed(check, pgerror.Explain(err).Error(), "retry")
	case at.IsZero():
		return warning(check, "there is no backup by verifyctl store backup", advice)
	case age > backupAge:
		return warning(check, "the last one is of "+at.UTC().Format(time.RFC3339)+", "+age.Round(time.Hour).String()+" ago", advice)
	}
	return ok(check, "the last one is of "+at.UTC().Format(time.RFC3339))
}

// endDays is for how many days the runs count whose data lacks a value.
const endDays = 7

// ends reports the ends whose data could not be computed in full.
func ends(ctx context.Context, db *database, now time.Time) finding {
	const check = "ends"
	tenants, err := db.tables().Tenants(ctx)
	if err != nil {
		return failed(check, pgerror.Explain(err).Error(), "retry")
	}
	day, runs, names := store.DayOf(now, time.UTC), 0, []string(nil)
	for _, t := range tenants {
		sums, err := db.Measures(ctx, t.ID, store.MeasureQuery{
			Totals: []store.MeasureName{store.MeasureIncomplete}, First: day - endDays, Last: day + 1, // in any zone
		})
		if err != nil {
			return failed(check, pgerror.Explain(err).Error(), "retry")
		}
		for _, m := range sums {
			runs += m.Counts[0]
			names = append(names, fmt.Sprintf("%s of %s", m.Parts().Node, t.Name))
		}
	}
	return judged(check, runs == 0, fmt.Sprintf("every end computed its data in the last %d days", endDays),
		healthWarn, fmt.Sprintf("%d runs completed without a value of their data in the last %d days, at the ends %s", runs, endDays, bootstrap.Unlisted{Names: names}),
		"see verifyctl run events and verifyctl workflow validate, and read values that may be missing with .?")
}

// bootstrap compares the database and the live hosts with the newest bootstrap file.
func (s *session) bootstrap(ctx context.Context, db *database, hosts []pgadmin.Host) (all []finding) {
	const check = "bootstrap"
	applied, err := db.AppliedFiles(ctx)
	if err != nil {
		return []finding{failed(check, pgerror.Explain(err).Error(), "retry")}
	}
	if len(applied) == 0 {
		return []finding{ok(check, "no bootstrap file was applied")}
	}
	var old []string
	for _, h := range hosts {
		if h.Alive && h.Bootstrap != "" && h.Bootstrap != applied[0].Hash {
			old = append(old, labelOf(h))
		}
	}
	if len(old) > 0 {
		all = append(all, warning(check, fmt.Sprintf("live hosts that do not run with the newest file (%d): %s", len(old), bootstrap.Unlisted{Names: old}),
			"restart them with the newest file"))
	}
	names, err := bootstrap.ParseNames(applied[0].Names)
	if err != nil {
		return append(all, failed(check, "the names in the newest file cannot be read", "apply the file again with verifyctl apply"))
	}
	unlisted, err := bootstrap.FindUnlisted(ctx, db, names, s.clock.Now())
	for _, u := range unlisted {
		all = append(all, warning(check, fmt.Sprintf("%ss that the newest file does not list (%d): %s", u.Kind, len(u.Names), u), unlistedAdvice(u.Kind)))
	}
	if err != nil {
		all = append(all, warning(check, "what the newest file does not list is not known in full: "+pgerror.Explain(err).Error(), "retry"))
	}
	if len(all) == 0 {
		return []finding{ok(check, "the newest file lists all that the database knows")}
	}
	return all
}

func unlistedAdvice(k bootstrap.Kind) string {
	switch k {
	case bootstrap.KindTenant:
		return "their accounts still answer: list them in the file, or disable the accounts with verifyctl account disable"
	case bootstrap.KindWorkflow:
		return "they take new runs: list them in the file, or retire them with verifyctl workflow retire"
	case bootstrap.KindAccount, bootstrap.KindProvider, bootstrap.KindList:
	}
	return "workflows or live runs need them: list them in the file"
}

// totals compares the counters with the runs, without a timeout.
func totals(ctx context.Context, db *database) []finding {
	differences, err := db.CheckCounts(ctx)
	if err != nil {
		return []finding{failed("counts", pgerror.Explain(err).Error(), "retry")}
	}
	if len(differences) == 0 {
		return []finding{ok("counts", "all are correct")}
	}
	return mapSlice(differences, func(line string) finding {
		return failed("counts", line, "report this problem; only the totals of lists are affected")
	})
}
