// The plan of a run: its steps and the results of its check.

package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Step is a step of a run. Its node has the same name.
type Step struct {
	Name string
	Kind Kind
}

// Kind is the kind of a step.
type Kind string

// The kinds of steps.
const (
	Consent Kind = "consent"
	Details Kind = "customer_input"
	Check   Kind = "check" // at most one on a path
	Review  Kind = "review"
)

// Plan describes a run.
type Plan struct {
	// Path is the steps in order; the run completes after the last one.
	Path []Step
	// Script is the script of the sandbox for the check.
	Script string
	// Shape says what the check is; a group and elements have three parts, which are called together.
	Shape Shape
	// Depends is set if the check depends on the details, so that it is made again if the customer is asked again for them.
	Depends bool
	// Fails is set if the check fails, which ends the run.
	Fails bool
	// Flakes is the number of failed dispatches before the check completes.
	Flakes int
	// Quiescent is set if the clock passes the deadline only while no operation and no check
	// is running.
	Quiescent bool

	// Deadline is when the run expires, in microseconds of Unix time. It is
	// known once the run has been started.
	Deadline int64
}

// Shape is what the check of a plan is.
type Shape string

// The shapes.
const (
	Single   Shape = ""         // one check
	Group    Shape = "group"    // a group of checks that all must pass
	Elements Shape = "elements" // the check of each element of a list
)

// parts returns how many providers are called for the check.
func (p Plan) parts() int {
	if p.Shape == Single {
		return 1
	}
	return 3
}

// How far operations advance the clock, and the TTL.
const (
	ttl = time.Hour
	// leaseJump is longer than the lease of a run and shorter than the timeout of a check.
	leaseJump = 25 * time.Second
	// Past is how far the clock is advanced to pass the deadline.
	Past = ttl + time.Minute
)

// Signal returns the name of the signal that a step waits for. A check has none.
func (s Step) Signal() string {
	if s.Kind == Review {
		return workflow.ReviewSignal
	}
	return s.Name + "_submitted"
}

// customer reports whether the step waits for the customer.
func (s Step) customer() bool { return s.Kind == Consent || s.Kind == Details }

// maxRounds is how often the customer may be asked again for a step.
const maxRounds = 1

// asks reports whether a reviewer may ask the customer again for something.
func (p Plan) asks() bool {
	return slices.ContainsFunc(p.Path, Step.customer) && slices.ContainsFunc(p.Path, func(s Step) bool { return s.Kind == Review })
}

// index returns the place of a step on the path, by its name or else its kind; -1 if it is not there.
func (p Plan) index(is func(Step) bool) int { return slices.IndexFunc(p.Path, is) }

// Paths returns the paths of trials.
func Paths() [][]Step {
	consent, details := Step{"consent", Consent}, Step{"details", Details}
	pan, review := Step{"pan", Check}, Step{"review", Review}
	return [][]Step{
		{consent, details, pan, review},
		{consent, pan, details},
		{consent, review, pan, Step{"second", Review}, details},
		{consent, details, pan},
		{pan, details}, // a start may wait for the check
		{details, pan, review},
		{details, review},
	}
}

// Definition returns the workflow of the plan.
func (p Plan) Definition(name string) workflow.Definition {
	d := workflow.Definition{
		Workflow: name, Name: name, RunTTLSeconds: int64(ttl / time.Second),
		Start: verification.NodeID(p.Path[0].Name),
		Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}},
	}
	for i, s := range p.Path {
		n := workflow.Node{Next: "done"}
		if i+1 < len(p.Path) {
			n.Next = verification.NodeID(p.Path[i+1].Name)
		}
		switch s.Kind {
		case Consent:
			n.Type, n.Text, n.OnDeclined, n.MaxRounds = workflow.NodeConsent, "We will check who you are.", workflow.TargetNext, maxRounds
		case Details:
			n.Type, n.MaxRounds = workflow.NodeCustomerInput, maxRounds
			n.Fields = workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Required: true}}
		case Check:
			n.Type, n.Provider, n.TimeoutSeconds = workflow.NodeCheck, "sandbox", 600
			n.Retry = &workflow.Retry{MaxDispatches: 5, BackoffSeconds: 0.002}
			n.Poll = &workflow.Poll{IntervalSeconds: 0.002}
			if p.Depends {
				n.With = verification.Data(`{"pan":"${steps.details.data.pan}"}`)
			}
			switch p.Shape {
			case Single:
			case Elements:
				n.ForEach = "['x', 'y', 'z']"
			case Group:
				group := workflow.Node{Type: workflow.NodeChecks, Next: n.Next}
				for _, name := range []string{"a", "b", "c"} {
					group.Members = append(group.Members, workflow.Member{
						Name: name, Key: name, Provider: n.Provider, TimeoutSeconds: n.TimeoutSeconds, Retry: n.Retry, Poll: n.Poll, With: n.With,
					})
				}
				n = group
			}
		case Review:
			n.Type = workflow.NodeReview
		}
		d.Nodes[verification.NodeID(s.Name)] = n
	}
	return d
}

// Input returns the input of the run.
func (p Plan) Input() verification.Data {
	return verification.Data(fmt.Sprintf(`{"sandbox":{"pan":%q,"b":%[1]q}}`, p.Script))
}
