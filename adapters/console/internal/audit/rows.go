// Rows: the entries of the trail in words, with what their runs say.

package audit

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// row is an entry of the trail, or the reads of a run by one person or account with no decision or change between them.
type row struct {
	At          shell.Instant
	Who, Kind   string // Kind says in words who it was
	WhoURL      string // of the entries of the same actor
	What        string
	Details     []string
	Run, RunURL string // empty for an entry about no run, and the URL of a run that is gone
	Reference   string // of the run, or words for one that is gone
	About       string // the URL of the entries of the run
}

// maxFolded is the maximum number of entries that a page reads.
const maxFolded = 20 * store.DefaultLimit

// rows returns the rows of a page and, if there are older entries, the id of the last entry of the page.
func (p *Pages) rows(ctx context.Context, s shell.Session, q store.AuditQuery, runs []verification.RunID) (all []row, older string, err error) {
	type reading struct { // of a run by one actor
		actor verification.Actor
		run   verification.RunID
	}
	var folded [][]store.AuditEntry
	reads := map[reading]int{} // the place in folded, since the last entry that is no read
	last, n := "", 0
	for e, err := range p.each(ctx, s, q, runs) {
		if err != nil {
			return nil, "", err
		}
		isRead, id := e.Run != "" && e.Action.Reads(), reading{e.Actor, e.Run}
		at, again := reads[id]
		again = again && isRead
		if !again && len(folded) == store.DefaultLimit || n == maxFolded {
			older = last
			break
		}
		switch {
		case again:
			folded[at] = append(folded[at], e)
		case isRead:
			reads[id] = len(folded)
			folded = append(folded, []store.AuditEntry{e})
		default:
			clear(reads)
			folded = append(folded, []store.AuditEntry{e})
		}
		last, n = e.ID, n+1
	}
	histories := map[verification.RunID][]rules.Event{}
	for _, entries := range folded {
		r, err := p.row(ctx, s, entries, histories)
		if err != nil {
			return nil, "", err
		}
		all = append(all, r)
	}
	return all, older, nil
}

// each yields the entries that a query selects, the newest first.
func (p *Pages) each(ctx context.Context, s shell.Session, q store.AuditQuery, runs []verification.RunID) iter.Seq2[store.AuditEntry, error] {
	return func(yield func(store.AuditEntry, error) bool) {
		for q.Limit = store.DefaultLimit + 1; ; { // one more says whether there are older ones
			entries, err := p.entries(ctx, s, q, runs)
			if err != nil {
				yield(store.AuditEntry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				q.Before = e.ID
			}
			if len(entries) < q.Limit {
				return
			}
		}
	}
}

// row returns the row of an entry or, the newest first, of the reads of a run. It adds the history of the run.
func (p *Pages) row(
	ctx context.Context, s shell.Session, entries []store.AuditEntry, histories map[verification.RunID][]rules.Event,
) (row, error) {
	e := entries[0]
	v := row{
		At: s.AtSecond(e.At), Who: e.Actor.Name, Kind: s.Say("audit.kind." + cmp.Or(string(e.Actor.Role), string(e.Actor.Kind))),
		What: s.Message("audit.action." + string(e.Action)),
	}
	v.Who, v.What = cmp.Or(v.Who, e.Actor.ID, v.Kind), cmp.Or(v.What, string(e.Action))
	if v.Who == v.Kind {
		v.Kind = ""
	}
	if e.Actor.ID != "" {
		v.WhoURL = s.Base + filter{Who: e.Actor.ID, All: true}.with("/audit", "")
	}
	if v.Details = detail(s, e); e.Run != "" {
		history, err := p.history(ctx, s, e.Run, histories)
		if err != nil {
			return v, err
		}
		v.Run, v.About = string(e.Run), s.Base+filter{About: string(e.Run), All: true}.with("/audit", "")
		if v.Reference = s.Say("audit.deleted"); len(history) > 0 {
			run := rules.Fold(e.Run, history)
			v.RunURL, v.Reference = s.Base+"/runs/"+string(e.Run), s.Reference(run.Started.ReferenceID, run.RestrictedAt)
		}
		v.Details = about(s, e, history)
	}
	if len(entries) > 1 {
		v.reads(s, entries)
		return v, nil
	}
	if day, last := e.At.UTC().Format(time.DateOnly), e.Last().UTC().Format(time.DateOnly); e.Count > 0 && day == last {
		v.Details = append(v.Details, s.Count("audit.count", e.Count, day))
	} else if e.Count > 0 {
		v.Details = append(v.Details, s.Count("audit.last", e.Count, last))
	}
	for _, text := range []string{e.Document, e.Subject} {
		if text != "" {
			v.Details = append(v.Details, text)
		}
	}
	return v, nil
}

// reads says how often a run was read, the newest first.
func (v *row) reads(s shell.Session, entries []store.AuditEntry) {
	var actions []store.AuditAction
	times := map[store.AuditAction]int{}
	for _, e := range entries {
		if times[e.Action] == 0 {
			actions = append(actions, e.Action)
		}
		times[e.Action] += max(e.Count, 1)
	}
	v.What = s.Count("audit.reads", len(entries))
	if len(actions) == 1 {
		v.What = s.Count("audit.reads."+string(actions[0]), times[actions[0]])
	}
	v.Details = nil
	if len(actions) > 1 {
		for _, a := range actions {
			v.Details = append(v.Details, s.Count("audit.reads."+string(a), times[a]))
		}
	}
	v.Details = append(v.Details, s.Say("audit.since", s.AtSecond(entries[len(entries)-1].At).Text))
}

// history returns what the person may read of the history of a run; nil for a run that is deleted. It is part of
// reading the trail, and no read of the run.
func (p *Pages) history(
	ctx context.Context, s shell.Session, id verification.RunID, histories map[verification.RunID][]rules.Event,
) ([]rules.Event, error) {
	if history, known := histories[id]; known {
		return history, nil
	}
	history, err := p.trail.Load(ctx, s.Tenant, id, 0)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return nil, err
	}
	if s.Role != verification.RoleAuditor {
		history = rules.Shown(history)
	}
	histories[id] = history
	return history, nil
}

// about returns what the event of an entry says.
func about(s shell.Session, e store.AuditEntry, history []rules.Event) (all []string) {
	at := e.Event()
	if at < 0 || at >= len(history) {
		return detail(s, e)
	}
	switch f := history[at].Fact.(type) { //nolint:gochecksumtype // the others say no more than their entry
	case rules.HitDecided:
		entry, step := entryOf(f, history[:at])
		all = []string{s.Say("audit.hit", s.Say("hit."+string(f.Match)), shell.Isolate(cmp.Or(entry, s.Say("hit.redacted"))), shell.Isolate(f.List))}
		return with(with(all, step), f.Reason)
	case rules.VerdictRecorded:
		return with(detail(s, e), f.Notes)
	case rules.VerdictProposed:
		return with(detail(s, e), f.Notes)
	case rules.Held:
		return with(all, f.Reason)
	case rules.Restricted:
		return with(all, f.Reason)
	case rules.RestrictionLifted:
		return with(all, f.Reason)
	}
	return detail(s, e)
}

// entryOf returns the name of the entry that a decision is about and the label of the check, as the history says; empty
// if it does not.
func entryOf(f rules.HitDecided, history []rules.Event) (entry, step string) {
	entry = f.Entry
	for _, e := range history {
		var hits []verification.Hit
		switch found := e.Fact.(type) { //nolint:gochecksumtype // no other fact has hits
		case rules.Dispatched:
			if found.Node == f.Node {
				step = found.Label
			}
		case rules.ResultRecorded:
			if found.Node == f.Node && found.Screening.List == f.List {
				hits = found.Screening.Hits
			}
		case rules.HitsFound:
			if found.Node == f.Node && found.List == f.List {
				hits = found.Hits
			}
		}
		for _, h := range hits {
			if h.ID == f.Entry && h.Digest == f.Digest {
				entry = h.Name
			}
		}
	}
	return entry, step
}

// with returns texts with one more, unless that is empty.
func with(all []string, text string) []string {
	if text == "" {
		return all
	}
	return append(all, text)
}

// detail returns what an entry alone says: the decision of a verdict, and the reason of a redaction, in words.
func detail(s shell.Session, e store.AuditEntry) []string {
	if text := s.Message("redact.reason." + e.Detail); text != "" && e.Action == store.AuditRunRedacted {
		return []string{text}
	}
	if text := s.Message("decision." + e.Detail); text != "" && (e.Action == store.AuditVerdictGiven || e.Action == store.AuditVerdictProposed) {
		return []string{text}
	}
	return with(nil, e.Detail)
}
