// Visits: the steps of a run that loops, each time it came to them.

package verification

import (
	"slices"
	"time"
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
	Data        Data
}

// foldVisits returns the run of a history, and by node the state of the step at the end of
// each visit but the last. A Run has only what flags it of the earlier visits, so that a
// long loop does not fill the memory.
func foldVisits(id RunID, history []Event) (Run, map[NodeID][]Step) {
	r, earlier := Run{ID: id}, map[NodeID][]Step{}
	r.inPlace(func() {
		for _, e := range history {
			before, reached := r.Step(arrival(e.Fact))
			r.evolve(e)
			if reached && r.step(before.Node).Visits > before.Visits {
				earlier[before.Node] = append(earlier[before.Node], before)
			}
		}
	})
	return r, earlier
}

// arrival returns the node of a fact that may begin a visit; empty for any other fact.
func arrival(f Fact) NodeID {
	switch f := f.(type) {
	case Dispatched:
		return f.Node
	case CustomerAwaited:
		return f.Node
	case ReviewAsked:
		return f.Node
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
		visits = append(visits, CardVisit{
			Number: i + 1, Status: status, Reason: english(sentences), Causes: s.causeNames(), Sentences: sentences,
			StartedAt: s.StartedAt, CompletedAt: s.CompletedAt, Dispatches: s.Dispatches, Data: s.shown(),
		})
	}
	slices.Reverse(visits)
	return visits, omitted
}
