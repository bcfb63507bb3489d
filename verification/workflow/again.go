// Asking again: a customer is sent back to a step.

package workflow

import (
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// ResubmitSignal is the name of the signal with which a reviewer sends a run back to its customer.
const ResubmitSignal = "human_review_resubmit"

// The bounds of rounds.
const (
	DefaultRounds     = 3    // Node.MaxRounds by default
	MaxNoteToCustomer = 1000 // characters
	maxRounds         = 20   // the maximum of Node.MaxRounds
)

// AskAgain sends a run back to a step of its customer. Once the customer was asked as often as the step allows, a rule with it
// leads to Rule.WhenUsedUp, or is passed over.
type AskAgain struct {
	Step    verification.NodeID `json:"step"` // a consent or a customer input before the branch
	Reasons []string            `json:"reasons"`
	Fields  []string            `json:"fields,omitempty"` // of the form; none for all
	Note    string              `json:"note,omitempty"`   // to the customer
}

// targets returns the nodes that the run may go to if the rule holds.
func (r Rule) targets() []verification.NodeID {
	switch {
	case r.AskAgain == nil:
		return []verification.NodeID{r.Next}
	case r.WhenUsedUp == "":
		return []verification.NodeID{r.AskAgain.Step}
	}
	return []verification.NodeID{r.AskAgain.Step, r.WhenUsedUp}
}

// Asks reports whether the node asks the customer for something.
func (n Node) Asks() bool { return n.Type == NodeConsent || n.Type == NodeCustomerInput }

// standardReasons are why a customer is asked again in every workflow.
func standardReasons() []RejectReason {
	reason := func(code, en, hi string) RejectReason {
		return RejectReason{Code: code, Label: en, LabelIn: Translations{"en": en, "hi": hi}}
	}
	return []RejectReason{
		reason("blurred", "The picture is blurred.", "तस्वीर धुंधली है।"),
		reason("glare", "Light is reflected in the picture.", "तस्वीर में चमक आ रही है।"),
		reason("cut_off", "A part of the document is cut off.", "दस्तावेज़ का एक हिस्सा कट गया है।"),
		reason("not_readable", "The document cannot be read.", "दस्तावेज़ पढ़ा नहीं जा सकता।"),
		reason("expired", "The document has expired.", "दस्तावेज़ की वैधता समाप्त हो चुकी है।"),
		reason("wrong_document", "Another document is needed.", "कोई दूसरा दस्तावेज़ चाहिए।"),
		reason("does_not_match", "The answers do not match the document.", "उत्तर दस्तावेज़ से मेल नहीं खाते।"),
		reason("incomplete", "Something is missing.", "कुछ जानकारी छूट गई है।"),
		reason("other", "Please check your answer.", "कृपया अपना उत्तर जाँच लें।"),
	}
}

// AboutPicture reports whether a reason to ask a customer again is about a picture or a document, and not about another answer.
func AboutPicture(code string) bool {
	return slices.Contains([]string{"blurred", "glare", "cut_off", "not_readable", "expired", "wrong_document"}, code)
}

// ResubmitReason returns the reason of the workflow with a code, or else the standard one, and whether there is one.
func (d Definition) ResubmitReason(code string) (RejectReason, bool) {
	all := slices.Concat(d.ResubmitReasons, standardReasons())
	if i := slices.IndexFunc(all, func(r RejectReason) bool { return r.Code == code }); i >= 0 {
		return all[i], true
	}
	return RejectReason{}, false
}

// ResubmitCodes returns the codes of the reasons why the customer may be asked again: those of the workflow, and then the standard
// ones.
func (d Definition) ResubmitCodes() (codes []string) {
	for _, r := range slices.Concat(d.ResubmitReasons, standardReasons()) {
		if !slices.Contains(codes, r.Code) {
			codes = append(codes, r.Code)
		}
	}
	return codes
}

// askAgain checks a rule that asks the customer again.
func (v *validator) askAgain(path string, r Rule) {
	v.check(path+".next", r.Next == "", "must not be there beside ask_again: after the answer the run goes its way from the step")
	v.target(path+".when_used_up", r.WhenUsedUp, false)
	a, at := r.AskAgain, path+".ask_again"
	v.target(at+".step", a.Step, true)
	n, ok := v.def.Nodes[a.Step]
	if ok && v.check(at+".step", n.Asks() && !n.repeats(), "must be a consent, or a customer_input without for_each") {
		for i, field := range a.Fields {
			if _, ok := n.Fields.ByName(field); !ok {
				v.problem(fmt.Sprintf("%s.fields[%d]", at, i), "the form %s has no field %q%s", a.Step, field, v.hint(func() string {
					return DidYouMean(field, n.Fields.names())
				}))
			}
		}
	}
	v.check(at+".reasons", len(a.Reasons) > 0, "is required: name why the customer is asked again, such as blurred")
	for i, code := range a.Reasons {
		path := fmt.Sprintf("%s.reasons[%d]", at, i)
		if _, ok := v.def.ResubmitReason(code); !ok {
			v.problem(path, "there is no reason %q%s", code, v.hint(func() string { return DidYouMean(code, v.def.ResubmitCodes()) }))
		}
		v.check(path, !slices.Contains(a.Reasons[:i], code), "is there twice")
	}
	v.length(at+".note", a.Note, 0, MaxNoteToCustomer)
}

// names returns the names of the fields.
func (fs InputFields) names() (names []string) {
	for _, f := range fs {
		names = append(names, f.Name)
	}
	return names
}

// rounds checks what the graph says of the rules that ask again: the step was visited before, and a review may follow.
func (v *validator) rounds() {
	visited := setOf(walk([]verification.NodeID{v.def.Start}, func(id verification.NodeID) []verification.NodeID {
		return v.def.Nodes[id].withoutRounds().Targets()
	}, nil), v.def.Start)
	for _, id := range v.names() {
		for i, r := range v.def.Nodes[id].Rules {
			if r.AskAgain == nil {
				continue
			}
			rule := fmt.Sprintf("%s.rules[%d]", nodePath(id), i)
			at := rule + ".ask_again"
			if r.passable() {
				v.warnings = append(v.warnings, verification.FieldError{Name: rule + ".when_used_up", Message: "is missing: once the customer was asked " +
					"as often as max_rounds allows, this rule is passed over although its condition holds; name the node that the run then goes to"})
			}
			if v.check(at+".step", slices.Contains(v.def.Reach(r.AskAgain.Step, nil), id) && v.before(r.AskAgain.Step, id),
				"the run cannot have come to %s before this branch", r.AskAgain.Step) && !visited[r.AskAgain.Step] {
				v.newProblem(at+".step", "only ask_again leads to %s, so no customer answers it, and the rule is always passed over", r.AskAgain.Step)
			}
			if !slices.ContainsFunc(v.def.Reach(id, nil), func(next verification.NodeID) bool { return v.def.Nodes[next].Type == NodeReview }) {
				v.warnings = append(v.warnings, verification.FieldError{Name: at, Message: "no review step follows: a check that passes after it failed, or that is " +
					"dispatched three times, flags the run, which then needs a verdict anyway"})
			}
		}
	}
}

// withoutRounds returns the node without the ways back to a step that is asked for again.
func (n Node) withoutRounds() Node {
	n.Rules = slices.Clone(n.Rules)
	for i, r := range n.Rules {
		if r.AskAgain != nil {
			n.Rules[i] = Rule{Next: r.WhenUsedUp}
		}
	}
	return n
}

// before reports whether a path from the start leads to a step without going through a branch.
func (v *validator) before(step, branch verification.NodeID) bool {
	return step == v.def.Start || slices.Contains(v.def.Reach(v.def.Start, func(id verification.NodeID) bool { return id == branch }), step)
}

// asked checks how often customers are asked again.
func (v *validator) asked(at string, n Node) {
	if n.MaxRounds == noRounds {
		v.newProblem(at+".max_rounds", "must be 1 to %d: without it, a customer is asked again at most %d times", maxRounds, DefaultRounds)
		return
	}
	v.within(at+".max_rounds", float64(n.MaxRounds), 0, maxRounds)
}
