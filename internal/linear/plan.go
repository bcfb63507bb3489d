// Which way a run goes: its stops, and how its check answers.

package linear

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Stop is a step that a run comes to. Its node has the same name.
type Stop struct {
	Name string
	Kind Kind
}

// Kind is what a run does at a stop.
type Kind string

// The kinds of stops.
const (
	Consent Kind = "consent"
	Details Kind = "customer_input"
	Check   Kind = "check" // at most one on a way
	Review  Kind = "review"
)

// Plan is a run that is about to be started.
type Plan struct {
	// Way are the stops in their order; the run completes after the last.
	Way []Stop
	// Script tells the sandbox how to answer the check.
	Script string
	// Fails says that the check does not pass, which ends the run.
	Fails bool
	// Flakes is how often the check goes unanswered first.
	Flakes int
	// Calm says that the deadline passes while no operation and no check is
	// under way.
	Calm bool

	// Deadline is when the run expires, in microseconds of Unix time. It is
	// known once the run has been started.
	Deadline int64
}

// The measures of time.
const (
	ttl = time.Hour
	// nap is longer than the lease of a run and shorter than a call may take.
	nap = 25 * time.Second
	// Past is enough to get behind the deadline.
	Past = ttl + time.Minute
)

// Signal is the name of the signal that a stop waits for.
func (s Stop) Signal() string {
	if s.Kind == Review {
		return verification.ReviewSignal
	}
	return s.Name + "_submitted"
}

// customer tells whether the run parks on its customer here.
func (s Stop) customer() bool { return s.Kind == Consent || s.Kind == Details }

// Ways lists the ways that are tried.
func Ways() [][]Stop {
	consent, details := Stop{"consent", Consent}, Stop{"details", Details}
	pan, review := Stop{"pan", Check}, Stop{"review", Review}
	return [][]Stop{
		{consent, details, pan, review},
		{consent, pan, details},
		{consent, review, pan, Stop{"second", Review}, details},
		{consent, details, pan},
		{pan, details}, // a start may wait for the check
	}
}

// Definition is the workflow of the plan.
func (p Plan) Definition(name string) verification.Definition {
	d := verification.Definition{
		Workflow: name, Name: name, RunTTLSeconds: int64(ttl / time.Second),
		Start: verification.NodeID(p.Way[0].Name),
		Nodes: map[verification.NodeID]verification.Node{"done": {Type: verification.NodeEnd}},
	}
	for i, s := range p.Way {
		n := verification.Node{Next: "done"}
		if i+1 < len(p.Way) {
			n.Next = verification.NodeID(p.Way[i+1].Name)
		}
		switch s.Kind {
		case Consent:
			n.Type, n.Text, n.OnDeclined = verification.NodeConsent, "We will check who you are.", verification.RouteNext
		case Details:
			n.Type = verification.NodeCustomerInput
			n.Fields = verification.InputFields{{Name: "pan", Type: verification.FieldText, Required: true}}
		case Check:
			n.Type, n.Provider, n.TimeoutSeconds = verification.NodeCheck, "sandbox", 600
			n.Retry = &verification.Retry{MaxDispatches: 5, BackoffSeconds: 0.002}
			n.Poll = &verification.Poll{IntervalSeconds: 0.002}
		case Review:
			n.Type = verification.NodeReview
		}
		d.Nodes[verification.NodeID(s.Name)] = n
	}
	return d
}

// Input is what the run is started with.
func (p Plan) Input() verification.Data {
	return verification.Data(fmt.Sprintf(`{"sandbox":{"pan":%q}}`, p.Script))
}
