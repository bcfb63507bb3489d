// The ledger of erasures: what is written to it, and whether it has everything that the store knows of.

package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	owedBatch   = 500     // entries that are written at once
	owedRounds  = 10_000  // batches after which NoteErasures leaves the rest to the next call
	maxOwed     = 1 << 20 // entries of which a check knows that they are owed
	maxRechecks = 10      // checks of a ledger whose mark other hosts change
)

// LedgerError is returned for a ledger of erasures that does not have everything that the store knows of, or that
// cannot be read as a whole.
type LedgerError struct {
	Problem string
	// Name is what ApplyErasures is given to accept the ledger as it is. It is of this problem alone.
	Name string
}

// Error implements error.
func (e *LedgerError) Error() string { return "the ledger of erasures is damaged: " + e.Problem }

// erasureOf returns the entry of the ledger for events of a run that started at a time; nil for none.
func erasureOf(ref verification.RunRef, startedAt time.Time, events []rules.Event) *verification.Erasure {
	for _, event := range slices.Backward(events) {
		var kind verification.ErasureKind
		switch event.Fact.(type) { //nolint:gochecksumtype // only these are in the ledger
		case rules.Redacted:
			kind = verification.ErasureRedacted
		case rules.Held:
			kind = verification.ErasureHeld
		case rules.HoldEnded:
			kind = verification.ErasureReleased
		case rules.Restricted:
			kind = verification.ErasureLimited
		case rules.RestrictionLifted:
			kind = verification.ErasureLifted
		default:
			continue
		}
		return &verification.Erasure{Tenant: ref.Tenant, Run: ref.Run, Kind: kind, At: event.At, StartedAt: startedAt}
	}
	return nil
}

// commitEntry appends to a run, and writes an entry of the commit to the ledger. If the ledger cannot be written now, the
// store has the entry as owed.
func (e *Engine) commitEntry(ctx context.Context, ref verification.RunRef, seq int, c store.Commit) error {
	if c.Erasure == nil {
		return e.store.Append(ctx, ref.Tenant, ref.Run, seq, c)
	}
	if err := e.openLedger(ctx); err != nil {
		return err
	}
	err := e.store.Append(ctx, ref.Tenant, ref.Run, seq, c)
	if err == nil && !e.external {
		if err := e.NoteErasures(context.WithoutCancel(ctx)); err != nil {
			e.log.WarnContext(ctx, "the ledger of erasures does not have an entry yet; it is written later", "tenant", ref.Tenant, "run", ref.Run, "error", err)
		}
	}
	return err
}

// openLedger gives the store a mark of the ledger before the first entry, in case ApplyErasures was not called.
func (e *Engine) openLedger(ctx context.Context) error {
	if e.ports.Ledger == nil || e.erasures.opened.Load() {
		return nil
	}
	mark, err := tablesOf(e).LedgerMark(ctx)
	if err == nil && mark.ID == "" {
		_, err = e.checkLedger(ctx, "")
	}
	e.erasures.opened.Store(err == nil)
	return err
}

// NoteErasures writes to the ledger what it is owed. Another host may do so at the same time.
func (e *Engine) NoteErasures(ctx context.Context) error {
	if e.ports.Ledger == nil {
		return nil
	}
	e.erasures.noting.Lock()
	defer e.erasures.noting.Unlock()
	for range owedRounds {
		owed, err := tablesOf(e).OwedErasures(ctx, owedBatch)
		if err != nil || len(owed) == 0 {
			return err
		}
		if err := e.ports.Ledger.NoteErasures(ctx, owed...); err != nil {
			return err
		}
		if err := tablesOf(e).ErasuresNoted(ctx, numbersOf(owed)); err != nil {
			return err
		}
	}
	return nil
}

func numbersOf(entries []verification.Erasure) (numbers []int64) {
	for _, e := range entries {
		numbers = append(numbers, e.Number)
	}
	return numbers
}

// CheckLedger compares a ledger with a store, and changes nothing. It returns a LedgerError if the ledger is not whole,
// and how many entries it has. A store without a mark has no ledger yet.
func CheckLedger(ctx context.Context, s store.Tables, l verification.ErasureLedger) (entries int64, err error) {
	mark, err := s.LedgerMark(ctx)
	if err != nil || mark.ID == "" {
		return 0, err
	}
	r, err := readLedger(ctx, s, l)
	return r.all.end(), err
}

// checkLedger checks the ledger, and returns a mark that knows all of its entries. The first one that uses a store
// counts the entries that have no number. accept is the Name of the LedgerError that an operator has accepted.
func (e *Engine) checkLedger(ctx context.Context, accept string) (mark store.LedgerMark, err error) {
	for attempt := 1; ; attempt++ {
		mark, err = e.checkedLedger(ctx, accept)
		if !errors.Is(err, verification.ErrConflict) || attempt == maxRechecks {
			return mark, err
		}
	}
}

func (e *Engine) checkedLedger(ctx context.Context, accept string) (mark store.LedgerMark, err error) {
	r, err := readLedger(ctx, tablesOf(e), e.ports.Ledger)
	if damaged := (*LedgerError)(nil); errors.As(err, &damaged) && accept == damaged.Name && accept != "" {
		e.log.WarnContext(ctx, "the ledger of erasures was accepted as it is", "problem", damaged.Problem)
		if err = e.acceptLedger(ctx, r); err == nil {
			r, err = readLedger(ctx, tablesOf(e), e.ports.Ledger)
		}
	}
	if err != nil || e.ports.Ledger == nil {
		return mark, err
	}
	if r.unfinished > 0 {
		e.log.WarnContext(ctx, "unfinished lines of the ledger of erasures were passed over: their writer stopped", "lines", r.unfinished)
	}
	was := r.mark
	mark = was
	var owed []verification.Erasure
	switch {
	case was.ID == "" && r.id != "": // the store is of a time before the ledger had its id
		mark = store.LedgerMark{ID: r.id, Last: r.all.end()}
	case was.ID == "":
		mark = store.LedgerMark{ID: e.ports.NewID(), Last: r.unnumbered + 1}
		owed = append(owed, verification.Erasure{Ledger: mark.ID, Number: mark.Last, Kind: verification.ErasureOpened, At: e.now(), StartedAt: e.now()})
		e.log.InfoContext(ctx, "the ledger of erasures was opened", "ledger", mark.ID, "entries", r.unnumbered)
	default:
		mark.Last = max(mark.Last, r.all.end())
	}
	if mark != was {
		if err := tablesOf(e).SaveLedgerMark(ctx, was, mark, owed); err != nil {
			return mark, err
		}
	}
	return mark, e.NoteErasures(ctx)
}

// ledgerReading is what was found in a ledger.
type ledgerReading struct {
	mark store.LedgerMark // of the store before
	id   string           // of the first entry that has one

	all                    spans // numbers that have an entry
	lost                   spans // of them, numbers that were accepted as lost
	unnumbered, counted    int64
	own, foreign, late     int
	unreadable, unfinished int

	sums     map[int64][sha256.Size]byte
	recent   []int64 // the numbers in sums, the oldest first from next
	next     int
	disputed []int64
}

// maxSums is how many entries are compared with a later one of the same number.
const maxSums = 1 << 16

func (r *ledgerReading) add(e verification.Erasure) {
	switch {
	case e.Kind == verification.ErasureUnreadable:
		r.unreadable++
	case e.Kind == verification.ErasureUnfinished:
		r.unfinished++
	case e.Kind == verification.ErasureCounted:
		if e.Ledger == r.mark.ID || r.mark.ID == "" {
			r.counted = max(r.counted, e.Number)
		}
	case e.Number == 0 && r.id != "":
		r.late++
	case e.Number == 0:
		r.unnumbered++
		r.all.add(r.unnumbered, r.unnumbered)
	default:
		if r.id == "" {
			r.id = e.Ledger
		}
		if r.mark.ID != "" && e.Ledger != r.mark.ID || e.Ledger != r.id {
			r.foreign++
			return
		}
		r.own++
		r.all.add(e.Number, max(e.Number, e.Through))
		if e.Kind == verification.ErasureLost {
			r.lost.add(e.Number, max(e.Number, e.Through))
		} else {
			r.compare(e)
		}
	}
}

// compare notes a number that has two entries.
func (r *ledgerReading) compare(e verification.Erasure) {
	line, err := e.Line()
	sum := sha256.Sum256(line)
	if old, known := r.sums[e.Number]; err != nil || known && old != sum {
		r.disputed = append(r.disputed, e.Number)
		return
	} else if known {
		return
	}
	if len(r.recent) < maxSums {
		r.recent = append(r.recent, e.Number)
	} else {
		delete(r.sums, r.recent[r.next])
		r.recent[r.next] = e.Number
		r.next = (r.next + 1) % maxSums
	}
	r.sums[e.Number] = sum
}

// readLedger reads the whole ledger and compares it with the store. It returns a LedgerError with what it has read.
func readLedger(ctx context.Context, s store.Tables, l verification.ErasureLedger) (*ledgerReading, error) {
	r := &ledgerReading{sums: map[int64][sha256.Size]byte{}}
	var err error
	if r.mark, err = s.LedgerMark(ctx); err != nil {
		return r, err
	}
	if l == nil {
		if r.mark.ID == "" {
			return r, nil
		}
		return r, r.problem("this host has none, and the store has one: give the host the folder or bucket of uploads")
	}
	owed, err := s.OwedErasures(ctx, maxOwed)
	if err != nil {
		return r, err
	}
	if err := l.EachErasure(ctx, func(entry verification.Erasure) bool {
		r.add(entry)
		return true
	}); err != nil {
		return r, err
	}
	now, err := s.LedgerMark(ctx)
	if err != nil {
		return r, err
	}
	there := r.all.clone()
	for _, entry := range owed {
		there.add(entry.Number, entry.Number)
	}
	if now.Last > r.mark.Last { // hosts write them now
		there.add(r.mark.Last+1, now.Last)
	}
	return r, r.judge(there)
}

// judge returns a LedgerError unless all numbers are there, and nothing else.
func (r *ledgerReading) judge(there spans) error {
	last := max(there.end(), r.counted, r.mark.Last)
	var found []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	gaps := there.gaps(last)
	missing := int64(0)
	for _, g := range gaps {
		missing += g.to - g.from + 1
	}
	disputed := slices.DeleteFunc(slices.Clone(r.disputed), r.lost.has)
	add(r.foreign, "%d entries are of another installation", r.foreign)
	add(r.unreadable, "%d entries cannot be read", r.unreadable)
	add(len(gaps), "%d of %d entries are missing, the first has the number %d", missing, last, append(gaps, span{})[0].from)
	add(len(disputed), "%d numbers have two entries", len(disputed))
	add(r.late, "%d entries of an earlier build follow those of this one", r.late)
	if len(found) == 0 {
		return nil
	}
	return r.problem(strings.Join(found, "; "))
}

func (r *ledgerReading) problem(text string) *LedgerError {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", r.mark.ID, r.id, r.all.end(), text))
	return &LedgerError{Problem: text, Name: fmt.Sprintf("%x", sum[:4])}
}

// acceptLedger makes a ledger whole that was read: what is missing counts as lost, and what cannot be read is moved
// aside. A ledger that has only entries of another installation becomes the ledger of the store.
func (e *Engine) acceptLedger(ctx context.Context, r *ledgerReading) error {
	if e.ports.Ledger == nil {
		return tablesOf(e).SaveLedgerMark(ctx, r.mark, store.LedgerMark{}, nil)
	}
	mark := r.mark
	if r.own == 0 && r.foreign > 0 || mark.ID == "" {
		mark = store.LedgerMark{ID: r.id}
	}
	if mark.ID == "" { // nothing has a number yet
		return e.ports.Ledger.RepairErasures(ctx, "")
	}
	if err := e.ports.Ledger.RepairErasures(ctx, mark.ID); err != nil {
		return err
	}
	left := &ledgerReading{mark: mark, sums: map[int64][sha256.Size]byte{}}
	if err := e.ports.Ledger.EachErasure(ctx, func(entry verification.Erasure) bool {
		left.add(entry)
		return true
	}); err != nil {
		return err
	}
	owed, err := tablesOf(e).OwedErasures(ctx, maxOwed)
	if err != nil {
		return err
	}
	if mark.Last = max(mark.Last, r.mark.Last, left.all.end(), r.counted); mark.ID == r.mark.ID {
		for _, entry := range owed {
			left.all.add(entry.Number, entry.Number)
		}
	}
	var lost []verification.Erasure
	for _, g := range left.all.gaps(mark.Last) {
		lost = append(lost, verification.Erasure{Number: g.from, Through: g.to})
	}
	for _, n := range left.disputed {
		lost = append(lost, verification.Erasure{Number: n})
	}
	for i := range lost {
		lost[i].Ledger, lost[i].Kind, lost[i].At, lost[i].StartedAt = mark.ID, verification.ErasureLost, e.now(), e.now()
	}
	if len(lost) > 0 {
		if err := e.ports.Ledger.NoteErasures(ctx, lost...); err != nil {
			return err
		}
	}
	if mark.ID == r.mark.ID || r.mark.ID == "" && len(owed) == 0 {
		return nil
	}
	old := numbersOf(owed)
	for i := range owed { // they get numbers of the ledger that counts from now on
		mark.Last++
		owed[i].Ledger, owed[i].Number = mark.ID, mark.Last
	}
	if err := tablesOf(e).SaveLedgerMark(ctx, r.mark, mark, owed); err != nil {
		return err
	}
	return tablesOf(e).ErasuresNoted(ctx, old)
}
