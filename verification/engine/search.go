// Search: runs are found by keyed hashes of their words.

package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/store"
)

// minSearchKey is the minimum length of Options.SearchKey.
const minSearchKey = 32

// Searches reports whether runs are found by their words: the engine has Options.SearchKey.
func (e *Engine) Searches() bool { return e.opt.SearchKey != nil }

// SearchKeys returns the keys of a text that a person types, for RunQuery.Keys. It returns none
// if the text has no word, or the engine has no Options.SearchKey.
func (e *Engine) SearchKeys(t verification.TenantID, text string) []store.SearchKey {
	if !e.Searches() {
		return nil
	}
	return e.searchKeysOf(t, facts.ParseSearch(text))
}

// searchKeysOf returns the keys of words, never nil.
func (e *Engine) searchKeysOf(t verification.TenantID, words []facts.SearchWord) []store.SearchKey {
	keys := make([]store.SearchKey, 0, len(words))
	for _, w := range words {
		if key := e.searchKey(t, w.Kind, w.Text); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// searchKey returns the key of a word of a tenant. A phone number, with its country or without,
// has the key of a number: the text that a person types does not say which it is.
func (e *Engine) searchKey(t verification.TenantID, kind facts.SearchKind, word string) store.SearchKey {
	if kind == facts.SearchPhone || kind == facts.SearchLocal {
		kind = facts.SearchNumber
	}
	mac := hmac.New(sha256.New, e.opt.SearchKey)
	mac.Write([]byte(string(t) + "\x00" + string(kind) + "\x00" + word))
	return store.SearchKey(mac.Sum(nil))
}

// commitKeys returns the search keys of a run for a commit of events: nil if the events do not
// change its words. Every source of words belongs here, because a commit replaces all keys.
func (e *Engine) commitKeys(s *session, after verification.Run, events []verification.Event) []store.SearchKey {
	if !e.Searches() || !slices.ContainsFunc(events, changesWords) {
		return nil
	}
	decided, cleared := askedOf(after)
	if len(decided)+len(cleared) == 0 && !s.program.Searches() {
		return nil
	}
	words := slices.Concat(facts.SearchWords(s.program, after),
		personWords(searchDecided, s.program, after, decided), personWords(searchCleared, s.program, after, cleared))
	keys := e.searchKeysOf(s.ref.Tenant, words)
	if len(keys) == 0 && s.run.Seq == 0 {
		return nil // there are none to replace
	}
	return keys
}

// changesWords reports whether an event may change the words of a run.
func changesWords(e verification.Event) bool {
	switch f := e.Fact.(type) {
	case verification.Started, verification.CustomerSubmitted, verification.HitDecided, verification.HitsCleared:
		return true
	case verification.ResultRecorded:
		return f.Screening != nil && len(f.Screening.Cleared) > 0
	}
	return false
}

// Relation is what a run has in common with another one.
type Relation string

// The relations.
const (
	SameReference Relation = "reference"
	SamePerson    Relation = "person" // name and birth date
	SameNumber    Relation = "number"
	SamePhone     Relation = "phone"
	SameMail      Relation = "mail"
)

// RelatedRuns are the other runs of a tenant that have something in common with a run.
type RelatedRuns struct {
	Runs []RelatedRun // the newest 10, newest first
	// Total is how many there are. AtLeast says that there may be more than Total.
	Total   int
	AtLeast bool
	At      time.Time // when they were read
}

// RelatedRun is a run and what it has in common with the other one.
type RelatedRun struct {
	verification.Summary
	Same []Relation
	// Rejection is why a reviewer rejected the run. It is zero if its verdict is no
	// rejection or has no reason, and has only a Code if the workflow does not know the reason.
	Rejection verification.RejectReason
}

// The bounds of RelatedRuns.
const (
	maxRelated   = 10
	maxRelations = 8 // queries
)

// RelatedRuns returns the other runs with the same reference id, or with the same name and
// birth date, number, phone number or mail address if the workflows of both search them.
func (e *Engine) RelatedRuns(ctx context.Context, t verification.TenantID, r RunRecord) (found RelatedRuns, err error) {
	page := store.PageQuery{Limit: maxRelated + 1} // the run itself is one of them
	type likeness struct {
		Relation
		query store.RunQuery
	}
	all := []likeness{{SameReference, store.RunQuery{PageQuery: page, ReferenceID: r.Report.Run.ReferenceID}}}
	for _, w := range r.words {
		relation, ok := relationOf(w.Kind)
		if ok && e.Searches() && len(all) < maxRelations {
			kind := w.Kind
			if w.CouldBeLocal() { // the key of a number is also that of a phone number without its country
				kind = facts.SearchWhole
			}
			key := e.searchKey(t, kind, w.Text)
			all = append(all, likeness{relation, store.RunQuery{PageQuery: page, Keys: []store.SearchKey{key}}})
		}
	}
	for _, l := range all {
		p, err := e.list(ctx, t, &l.query)
		if err != nil {
			return found, err
		}
		found.At = l.query.Now
		found.AtLeast = found.AtLeast || p.Total > len(p.Data)
		found.Total = max(found.Total, p.Total-1)
		for _, s := range p.Data {
			found.add(r.Report.Run.ID, s, l.Relation)
		}
	}
	slices.SortFunc(found.Runs, func(a, b RelatedRun) int {
		if store.Newer(a.Summary, b.Summary) {
			return -1
		}
		return 1
	})
	found.Total = max(found.Total, len(found.Runs))
	// Each of the newest 10 runs of all lists is among the newest 11 of every list that has it,
	// so nothing that it has in common is missing.
	found.Runs = found.Runs[:min(len(found.Runs), maxRelated)]
	for i, run := range found.Runs {
		if run.Verdict != verification.DecisionReject {
			continue
		}
		if found.Runs[i].Rejection, err = e.rejection(ctx, verification.RunRef{Tenant: t, Run: run.ID}); err != nil {
			return found, err
		}
	}
	return found, nil
}

// rejection returns the reason for which a run is rejected: see RelatedRun.
func (e *Engine) rejection(ctx context.Context, ref verification.RunRef) (reason verification.RejectReason, err error) {
	s := &session{ref: ref}
	if err := e.reload(ctx, s); err != nil {
		return reason, err
	}
	code := s.run.Verdict.Reason
	if code == "" {
		return reason, nil
	}
	if err := e.loadProgram(ctx, s); err != nil {
		return reason, err
	}
	reason, _ = s.program.Version.Definition.RejectReason(code)
	reason.Code = code
	return reason, nil
}

// add adds a run, unless it is the run itself.
func (r *RelatedRuns) add(self verification.RunID, s verification.Summary, same Relation) {
	if s.ID == self {
		return
	}
	i := slices.IndexFunc(r.Runs, func(one RelatedRun) bool { return one.ID == s.ID })
	if i < 0 {
		r.Runs = append(r.Runs, RelatedRun{Summary: s, Same: []Relation{same}})
	} else if !slices.Contains(r.Runs[i].Same, same) {
		r.Runs[i].Same = append(r.Runs[i].Same, same)
	}
}

// relationOf returns the relation of runs that have a word in common; ok is false if
// that means nothing, such as for one word of a name.
func relationOf(k facts.SearchKind) (relation Relation, ok bool) {
	switch k {
	case facts.SearchPerson:
		return SamePerson, true
	case facts.SearchNumber:
		return SameNumber, true
	case facts.SearchPhone:
		return SamePhone, true
	case facts.SearchMail:
		return SameMail, true
	case facts.SearchName, facts.SearchDate, facts.SearchLocal, facts.SearchWhole:
	}
	return "", false
}
