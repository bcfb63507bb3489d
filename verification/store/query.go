// Queries: pages, filters and orders.

package store

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// The bounds of a page.
const (
	MaxLimit     = 200
	DefaultLimit = 50
)

// PageQuery selects one page of a list.
type PageQuery struct {
	Limit  int // 1 to MaxLimit
	Offset int // number of records to skip, at least 0
}

// Validate returns ErrInvalid with the subject "limit" or "offset" if the page is
// out of bounds.
func (p PageQuery) Validate() error {
	switch {
	case p.Limit < 1 || p.Limit > MaxLimit:
		return verification.Invalid("limit", "limit must be 1 to 200")
	case p.Offset < 0:
		return verification.Invalid("offset", "offset must be at least 0")
	}
	return nil
}

// Page is one page of a list and the total number of records that match.
type Page[T any] struct {
	Data  []T
	Total int
	PageQuery
}

// RunOrder is an order of a list of runs.
type RunOrder string

// The orders. All but NewestFirst are orders of the review queue: in them, ties break by
// Since, then by the lowest id.
const (
	NewestFirst RunOrder = ""       // by the start of the run, then by the highest id
	OldestFirst RunOrder = "oldest" // by Review.Since
	DueFirst    RunOrder = "due"    // by Review.DueAt; reviews without one come last
)

// ParseQueueOrder parses an order of the review queue; empty is OldestFirst. It returns
// ErrInvalid for any other text.
func ParseQueueOrder(s string) (RunOrder, error) {
	o := RunOrder(cmp.Or(s, string(OldestFirst)))
	if o != OldestFirst && o != DueFirst {
		return "", verification.Invalid("order", "there is no such order of the queue")
	}
	return o, nil
}

// RunQuery selects runs of a tenant. A run must match every filter; the zero
// value of a filter matches every run.
type RunQuery struct {
	PageQuery
	Workflow verification.WorkflowID
	Status   rules.Status
	Decision rules.Decision
	// ReferenceID selects the runs with this reference id, and ReferencePrefix those
	// whose reference id begins with it.
	ReferenceID, ReferencePrefix string
	// Restricted selects, of the runs with rules.RedactedReference as ReferenceID, those that are restricted. A store needs no
	// index for it: only an operator who redacts the runs of a person asks, and the redacted runs of the tenant are read.
	Restricted bool
	// Rejected selects the runs whose newest verdict is reject, also those that need another one.
	Rejected bool
	// Keys selects the runs that have, of each of these choices, one of the search keys, see Commit.Keys. A choice
	// are the keys of one word: in the form in which words are saved now, and in an earlier one.
	Keys [][]SearchKey
	// StartedAfter selects the runs that started later, and StartedBefore those that
	// started earlier.
	StartedAfter, StartedBefore time.Time
	// Now is the time at which status and decision are compared.
	Now time.Time

	// Order is the order of the list. An order of the review queue selects only runs whose
	// decision is review. So do the fields that follow.
	Order RunOrder
	// After continues the review queue after a position; Offset counts from there. The
	// total does not depend on it.
	After *QueuePosition
	// Run selects one run.
	Run verification.RunID
	// Cause selects reviews with a cause.
	Cause rules.Cause
	// SinceBefore selects reviews that began at this time or earlier, and DueBefore those
	// that were due earlier.
	SinceBefore, DueBefore time.Time
	// ClaimedBy selects the runs that the person with this Key has claimed, and Unclaimed
	// those without a claim.
	ClaimedBy string
	Unclaimed bool
	// AssignedTo selects the runs that are assigned to one of these, by Assignee.Key; "" is
	// nobody.
	AssignedTo []string
}

// SearchKey is the keyed hash of a word by which a run is found. It says nothing about the word
// to anybody without the key of the hash.
type SearchKey [16]byte

// FormatKeys returns the keys of a query as a text for a URL.
func FormatKeys(choices [][]SearchKey) string {
	var all []string
	for _, choice := range choices {
		texts := make([]string, len(choice))
		for i, k := range choice {
			texts[i] = base64.RawURLEncoding.EncodeToString(k[:])
		}
		all = append(all, strings.Join(texts, "~"))
	}
	return strings.Join(all, ".")
}

// The maximum number of choices of a query, and of keys of a choice.
const (
	maxSearchKeys = 16
	maxKeyChoice  = 2
)

// ParseKeys parses what FormatKeys returns for 1 to 16 choices of 1 or 2 keys. It returns ErrInvalid
// for any other text.
func ParseKeys(s string) ([][]SearchKey, error) {
	var all [][]SearchKey
	for text := range strings.SplitSeq(s, ".") {
		var choice []SearchKey
		for one := range strings.SplitSeq(text, "~") {
			raw, err := base64.RawURLEncoding.DecodeString(one)
			if err != nil || len(raw) != len(SearchKey{}) || len(choice) == maxKeyChoice || len(all) == maxSearchKeys {
				return nil, verification.Invalid("keys", "they are not search keys")
			}
			choice = append(choice, SearchKey(raw))
		}
		all = append(all, choice)
	}
	return all, nil
}

// OfQueue reports whether the query has an order or a filter of the review queue.
func (q RunQuery) OfQueue() bool {
	return q.Order != NewestFirst || q.After != nil || q.Run != "" || q.Cause != "" ||
		!q.SinceBefore.IsZero() || !q.DueBefore.IsZero() || q.ClaimedBy != "" || q.Unclaimed || q.AssignedTo != nil
}

// Matches reports whether the query selects the run, whatever its search keys are. The claim
// of its review may be over.
func (q RunQuery) Matches(s rules.Summary) bool {
	return (q.Workflow == "" || q.Workflow == s.Workflow) &&
		(q.Status == "" || q.Status == s.StatusAt(q.Now)) &&
		(q.Decision == rules.DecisionNone || q.Decision == s.DecisionAt(q.Now)) &&
		(q.ReferenceID == "" || q.ReferenceID == s.ReferenceID) && strings.HasPrefix(s.ReferenceID, q.ReferencePrefix) &&
		(!q.Restricted || !s.RestrictedAt.IsZero()) && (!q.Rejected || s.Verdict == rules.DecisionReject) &&
		(q.StartedAfter.IsZero() || s.StartedAt.After(q.StartedAfter)) &&
		(q.StartedBefore.IsZero() || s.StartedAt.Before(q.StartedBefore)) &&
		(!q.OfQueue() || s.Review != nil && s.DecisionAt(q.Now) == rules.DecisionReview && q.matchesReview(s.ID, *s.Review))
}

func (q RunQuery) matchesReview(run verification.RunID, v rules.Review) bool {
	held := v.Claim.HeldAt(q.Now)
	return (q.Run == "" || q.Run == run) &&
		(q.Cause == "" || slices.Contains(v.Causes, q.Cause)) &&
		(q.SinceBefore.IsZero() || !v.Since.After(q.SinceBefore)) &&
		(q.DueBefore.IsZero() || !v.DueAt.IsZero() && v.DueAt.Before(q.DueBefore)) &&
		(q.ClaimedBy == "" || held && v.Claim.By == q.ClaimedBy) &&
		(!q.Unclaimed || !held) &&
		(q.AssignedTo == nil || slices.Contains(q.AssignedTo, v.Assignment.To.Key()))
}

// Newer reports whether a comes before b in a list of runs: by descending start
// time, then by descending id.
func Newer(a, b rules.Summary) bool {
	if !a.StartedAt.Equal(b.StartedAt) {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID > b.ID
}

// QueuePosition is the position of a run in the review queue, even of one that has left it
// since.
type QueuePosition struct {
	Since, DueAt time.Time
	Run          verification.RunID
}

// PositionOf returns the position of a run with this review.
func PositionOf(run verification.RunID, v rules.Review) QueuePosition {
	return QueuePosition{v.Since, v.DueAt, run}
}

// Compare compares two positions in an order of the review queue: negative if p comes first.
func (o RunOrder) Compare(p, q QueuePosition) int {
	if o == DueFirst && !p.DueAt.Equal(q.DueAt) {
		switch {
		case p.DueAt.IsZero():
			return 1
		case q.DueAt.IsZero():
			return -1
		}
		return p.DueAt.Compare(q.DueAt)
	}
	return cmp.Or(p.Since.Compare(q.Since), cmp.Compare(p.Run, q.Run))
}

// String encodes the position for a URL.
func (p QueuePosition) String() string {
	micros := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return strconv.FormatInt(t.UnixMicro(), 36)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(micros(p.Since) + "." + micros(p.DueAt) + "." + string(p.Run)))
}

// ParseQueuePosition parses what String returns. It returns ErrInvalid for any other
// text.
func ParseQueuePosition(s string) (p QueuePosition, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.Split(string(raw), ".")
	if err != nil || len(parts) != 3 {
		return p, verification.Invalid("position", "it is not a position in the queue")
	}
	for i, to := range []*time.Time{&p.Since, &p.DueAt} {
		if parts[i] == "" {
			continue
		}
		micros, err := strconv.ParseInt(parts[i], 36, 64)
		if err != nil {
			return p, verification.Invalid("position", "it is not a position in the queue")
		}
		*to = time.UnixMicro(micros).UTC()
	}
	p.Run, err = verification.ParseRunID(parts[2])
	return p, err
}
