// Visits: the steps of a run that loops, each time it came to them.

package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// maxCardVisits is the maximum number of earlier visits on one card.
const maxCardVisits = 100

// CardVisit is an earlier visit of a step on its card.
type CardVisit struct {
	Number int        // 1 for the first visit of the step
	Status CardStatus // as of a card of this visit alone
	// Reason has the causes of this visit; a verdict adds no sentence.
	Reason      string
	Causes      []Cause    `json:"-"` // of this visit
	Sentences   []Sentence `json:"-"` // of Reason
	StartedAt   time.Time
	CompletedAt time.Time
	Dispatches  int // on this visit
	Data        verification.Data
	// Found, Screening, Rescreened and HitDecisions are as of a Card, for this visit. The API does not
	// show them.
	Found        verification.Data `json:"-"`
	Screening    *Screening        `json:"-"`
	Rescreened   []HitsFound       `json:"-"`
	HitDecisions []HitDecision     `json:"-"`
}

// foldVisits returns the run of a history, and by node the state of the step at the end of
// each visit but the last. A Run has only what flags it of the earlier visits, so that a
// long loop does not fill the memory.
func foldVisits(id verification.RunID, history []Event) (Run, map[verification.NodeID][]Step) {
	r, earlier := Run{ID: id}, map[verification.NodeID][]Step{}
	r.inPlace(func() {
		for _, e := range history {
			before, reached := r.Step(arrival(e.Fact))
			r.evolve(e)
			if reached && r.step(before.Node).Visits > before.Visits {
				before.Gone = false
				earlier[before.Node] = append(earlier[before.Node], before)
			}
		}
	})
	return r, earlier
}

// VisitAddress returns the address of a visit of a node, such as list@1: number is 1 for the
// first visit. The address of the last visit, of which number is 0, is the node alone.
func VisitAddress(node verification.NodeID, number int) string {
	if number == 0 {
		return string(node)
	}
	return fmt.Sprintf("%s@%d", node, number)
}

// ParseVisitAddress parses what VisitAddress returns. It returns verification.ErrInvalid for any other text.
func ParseVisitAddress(s string) (node verification.NodeID, number int, err error) {
	name, rest, numbered := strings.Cut(s, "@")
	if numbered {
		if number, err = strconv.Atoi(rest); err != nil || number < 1 || VisitAddress(verification.NodeID(name), number) != s {
			return "", 0, verification.InvalidField("hit", "node_id", "must be a node, or a visit of a node such as list@1")
		}
	}
	return verification.NodeID(name), number, nil
}

// visitOf returns an earlier visit of the step of a node.
func (r Run) visitOf(node verification.NodeID, number int) Step {
	step, _ := r.Step(node)
	visit, _ := step.visit(number)
	return visit
}

// VisitAsked returns the run of a history as it was when a check was asked for the first time on
// a visit, 1 for the first; ok is false if there is no such visit.
func VisitAsked(id verification.RunID, history []Event, node verification.NodeID, visit int) (r Run, ok bool) {
	for i, e := range history {
		if f, dispatched := e.Fact.(Dispatched); dispatched && f.Node == node && f.Visit == visit {
			return Fold(id, history[:i+1]), true
		}
	}
	return Run{}, false
}

// arrival returns the node of a fact that may begin a visit; empty for any other fact.
func arrival(f Fact) verification.NodeID {
	switch f := f.(type) { //nolint:gochecksumtype // no other fact begins a visit
	case Dispatched:
		return f.Node
	case CustomerAwaited:
		return f.Node
	case ReviewAsked:
		return f.Node
	case GroupDecided:
		if f.Data != nil { // the list is too long, and the node has a card
			return f.Node
		}
	}
	return ""
}

// alone returns the last visit of a step as if it was the only one. before is the end of
// the visit before it; zero for none.
func (s Step) alone(before Step) Step {
	s.StartedAt, s.Visits, s.Dispatches = s.VisitedAt, 1, s.Dispatches-before.Dispatches
	s.earlier, s.Rescreened = flagReasons{}, nil
	return s
}

// cardVisits returns the earlier visits of a step for its card, oldest first, and how many
// are left out: of too many, visits without a flag go first, and then the oldest.
func (r Run) cardVisits(ends []Step, d Decision) (visits []CardVisit, omitted int) {
	var alone []Step
	var before Step
	flagged := 0
	for i, s := range ends {
		alone, before = append(alone, s.alone(before)), s
		if alone[i].flagged() {
			flagged++
		}
	}
	room := map[bool]int{true: maxCardVisits, false: maxCardVisits - flagged} // by whether it is flagged
	for i, s := range slices.Backward(alone) {
		if room[s.flagged()]--; room[s.flagged()] < 0 {
			omitted++
			continue
		}
		status, sentences := r.cardStatus(s, d)
		whole := r.visitOf(s.Node, i+1)
		visits = append(visits, CardVisit{
			Screening: whole.Screening, Rescreened: whole.Rescreened, HitDecisions: whole.HitDecisions,
			Number: i + 1, Status: status, Reason: english(sentences), Causes: s.causeNames(), Sentences: sentences,
			StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Dispatches: s.Dispatches, Data: s.shown(), Found: s.found,
		})
	}
	slices.Reverse(visits)
	return visits, omitted
}
