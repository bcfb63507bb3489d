// Search: runs are found by keyed hashes of their words.

package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// minSearchKey is the minimum length of Options.SearchKey.
const minSearchKey = 32

// Searches reports whether runs are found by their words: the engine has Options.SearchKey.
func (e *Engine) Searches() bool { return e.opt.SearchKey != nil }

// SearchKeys returns the keys of words, for RunQuery.Keys: of the runs that have all of them, also
// if they were saved when words had an earlier form. It
// returns none without a word, and if the engine has no Options.SearchKey.
func (e *Engine) SearchKeys(t verification.TenantID, words []facts.SearchWord) [][]store.SearchKey {
	if !e.Searches() {
		return nil
	}
	keys := make([][]store.SearchKey, 0, len(words))
	for _, w := range words {
		choice := []store.SearchKey{e.searchKey(t, w.Kind, w.Text)}
		if slices.ContainsFunc(keys, func(other []store.SearchKey) bool { return other[0] == choice[0] }) {
			continue
		}
		if w.Earlier != "" {
			choice = append(choice, e.searchKey(t, w.Kind, w.Earlier))
		}
		keys = append(keys, choice)
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
func (s *session) commitKeys(after rules.Run, events []rules.Event) []store.SearchKey {
	if !s.Searches() || !slices.ContainsFunc(events, changesWords) {
		return nil
	}
	decided, cleared := askedOf(after)
	if len(decided)+len(cleared) == 0 && !s.program.Searches() {
		return nil
	}
	words := slices.Concat(facts.SearchWords(s.program, after),
		personWords(searchDecided, s.program, after, decided), personWords(searchCleared, s.program, after, cleared), restWords(after))
	keys := make([]store.SearchKey, 0, len(words))
	for _, choice := range s.SearchKeys(s.ref.Tenant, words) {
		keys = append(keys, choice[0])
	}
	if len(keys) == 0 && s.run.Seq == 0 {
		return nil // there are none to replace
	}
	return keys
}

// changesWords reports whether an event may change the words of a run.
func changesWords(e rules.Event) bool {
	switch f := e.Fact.(type) { //nolint:gochecksumtype // only these have words
	case rules.Started, rules.CustomerSubmitted, rules.HitDecided, rules.HitsCleared:
		return true
	case rules.GroupBegan:
		return f.Each
	case rules.ResultRecorded:
		return f.Screening != nil && len(f.Screening.Cleared) > 0
	}
	return false
}
