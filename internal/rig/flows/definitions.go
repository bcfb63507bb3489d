// The workflows of these tests.

package flows

import (
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Nodes are the nodes of a definition.
type Nodes = map[verification.NodeID]workflow.Node

// Define makes a definition with a life of an hour, and ten minutes for an
// idle customer.
func Define(start verification.NodeID, n Nodes) workflow.Definition {
	return workflow.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: start, Nodes: n,
		RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
	}
}

// ConsentNode asks for consent.
func ConsentNode(next verification.NodeID) workflow.Node {
	return workflow.Node{Type: workflow.NodeConsent, Label: "Consent", Text: "We will verify you.", OnDeclined: workflow.TargetNext, Next: next}
}

// CheckNode asks the registry at most twice.
func CheckNode(label string, next verification.NodeID) workflow.Node {
	return workflow.Node{
		Type: workflow.NodeCheck, Label: label, Provider: "registry", Next: next,
		Retry: &workflow.Retry{MaxDispatches: 2},
	}
}

func ReviewNode(label string, next verification.NodeID) workflow.Node {
	return workflow.Node{Type: workflow.NodeReview, Label: label, Next: next}
}

func BranchNode(when string, then, otherwise verification.NodeID) workflow.Node {
	return workflow.Node{
		Type: workflow.NodeBranch, Else: otherwise,
		Rules: []workflow.Rule{{When: when, Next: then}},
	}
}

func EndNode() workflow.Node { return workflow.Node{Type: workflow.NodeEnd} }

// DeskFlow asks for consent and for one check, and if the input says so
// review or two.
func DeskFlow() workflow.Definition {
	d := Define("consent", Nodes{
		"consent": ConsentNode("pan"),
		"pan":     CheckNode("PAN", "gate"),
		"gate":    BranchNode("review wanted", "review", "done"),
		"review":  ReviewNode("Manual review", "more"),
		"more":    BranchNode("again wanted", "again", "done"),
		"again":   ReviewNode("Second look", "done"),
		"done":    EndNode(),
	})
	d.RejectReasons = Reasons()
	return d
}

// FourEyes is the desk where a verdict needs two reviewers.
func FourEyes() workflow.Definition {
	d := DeskFlow()
	d.FourEyes = true
	return d
}

// Single is a workflow of one check, which change may change.
func Single(change func(*workflow.Node)) workflow.Definition {
	n := CheckNode("PAN", "done")
	if change != nil {
		change(&n)
	}
	return Define("pan", Nodes{"pan": n, "done": EndNode()})
}

// Ladder is a workflow with every type of node, a fallback, and a route for every failure.
func Ladder() workflow.Definition {
	pan := CheckNode("PAN", "risk")
	pan.Key, pan.Fallback = "pan_verification", "backup"
	pan.OnFailed, pan.OnUnavailable = workflow.TargetNext, workflow.TargetNext
	face := CheckNode("Face match", "done")
	face.Poll = &workflow.Poll{IntervalSeconds: 5, TimeoutSeconds: 60}
	face.OnUnavailable = "review"
	review := ReviewNode("Manual review", "face")
	review.Reason, review.OnReject = "The PAN did not pass.", "done"
	return Define("consent", Nodes{
		"consent": ConsentNode("details"),
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Optional: true, Next: "pan",
			Fields: workflow.InputFields{
				{Name: "pan", Type: workflow.FieldText, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$"},
				{
					Name: "place", Type: workflow.FieldLocation,
					Within: []workflow.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}},
				},
			},
		},
		"pan":    pan,
		"risk":   BranchNode("pan failed", "review", "face"),
		"review": review,
		"face":   face,
		"done":   EndNode(),
	})
}

// Loop is a workflow that returns to the customer until the check passes. It has two
// nodes with one check key.
func Loop() workflow.Definition {
	pan, twin := CheckNode("PAN", "twin"), CheckNode("PAN", "done")
	pan.Key, twin.Key = "pan_verification", "pan_verification"
	pan.OnFailed, pan.OnUnavailable = "details", "details"
	twin.OnFailed, twin.OnUnavailable = "details", workflow.TargetNext
	return Define("details", Nodes{
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Next: "pan",
			Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Required: true}},
		},
		"pan":  pan,
		"twin": twin,
		"done": EndNode(),
	})
}

// Refusal is a workflow with a consent that leads to a reviewer when it is declined, and
// back to the consent after a rejection.
func Refusal() workflow.Definition {
	consent := ConsentNode("pan")
	consent.OnDeclined = "review"
	review := ReviewNode("Manual review", "done")
	review.OnReject = "consent"
	d := Define("consent", Nodes{
		"consent": consent, "pan": CheckNode("PAN", "review"), "review": review, "done": EndNode(),
	})
	d.RunTTLSeconds, d.AbandonTimeoutSeconds = 0, 0
	return d
}

// Company is a workflow with a form for each item of a list, a check and a group of checks for each, a group of its own,
// steps that are skipped, a branch that asks the customer again, and a review.
func Company() workflow.Definition {
	member := func(name string) workflow.Member {
		return workflow.Member{Name: name, Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 2}}
	}
	address := workflow.Node{
		Type: workflow.NodeChecks, Label: "Address", Need: 2, Members: workflow.Members{member("bureau"), member("register"), member("utility")},
		OnNotMet: workflow.TargetNext, OnUnavailable: "review", Next: "owners",
	}
	address.Members[2].When = "review wanted"
	owners := CheckNode("Owner", "each")
	owners.ForEach, owners.OnFailed, owners.OnUnavailable, owners.Fallback = "input.list", workflow.TargetNext, workflow.TargetNext, "backup"
	each := workflow.Node{
		Type: workflow.NodeChecks, Label: "Registers", ForEach: "input.list", Order: workflow.OrderOneByOne, Need: 1,
		Members: workflow.Members{member("cheap"), member("dear")}, OnNotMet: "review", Next: "court",
	}
	court := CheckNode("Court", "gate")
	court.When, court.OnFailed = "again wanted", workflow.TargetNext
	return Define("details", Nodes{
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Optional: true, Next: "homes", MaxRounds: 2,
			Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText}, {Name: "place", Type: workflow.FieldLocation}},
		},
		"homes": {
			Type: workflow.NodeCustomerInput, Label: "Home", ForEach: "input.list", Optional: true, Next: "address",
			Fields: workflow.InputFields{{Name: "pan", Type: workflow.FieldText}, {Name: "place", Type: workflow.FieldLocation}},
		},
		"address": address, "owners": owners, "each": each, "court": court,
		"gate": {Type: workflow.NodeBranch, Else: "done", Rules: []workflow.Rule{
			{When: "again wanted", AskAgain: &workflow.AskAgain{Step: "details", Reasons: []string{"blurred"}}},
			{When: "review wanted", Next: "review"},
		}},
		"review": ReviewNode("Manual review", "done"),
		"done":   EndNode(),
	})
}

// Reasons are the reject reasons of the desk.
func Reasons() []workflow.RejectReason {
	return []workflow.RejectReason{
		{
			Code: "wrong_name", Label: "The name does not match", CustomerText: "Your name could not be confirmed.",
			CustomerTextIn: workflow.Translations{"en": "Your name could not be confirmed.", "hi": "नाम की पुष्टि नहीं हुई।"},
		},
		{Code: "other", Label: "Other"},
	}
}

// Form returns a definition that asks for the fields.
func Form(fields ...workflow.InputField) workflow.Definition {
	return Define("details", Nodes{
		"details": {Type: workflow.NodeCustomerInput, Label: "Details", Next: "done", Fields: fields},
		"done":    EndNode(),
	})
}

// Mumbai is the city and 500 km around it.
func Mumbai() []workflow.Area {
	return []workflow.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}}
}

// Screening is a workflow whose checks ask for re-screening.
func Screening(checks ...verification.NodeID) workflow.Definition {
	all := Nodes{"done": EndNode()}
	for i, id := range checks {
		n := CheckNode("Screening", "done")
		if i+1 < len(checks) {
			n.Next = checks[i+1]
		}
		n.Rescreen = &workflow.Rescreen{List: "sanctions", Every: workflow.RescreenOnChange}
		all[id] = n
	}
	return Define(checks[0], all)
}
