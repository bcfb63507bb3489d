package verification_test

import "github.com/verifyd/verifyd/verification"

type nodes = map[verification.NodeID]verification.Node

// define makes a definition with a life of an hour, and ten minutes for an
// idle customer.
func define(start verification.NodeID, n nodes) verification.Definition {
	return verification.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: start, Nodes: n,
		RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
	}
}

// consentNode asks for consent.
func consentNode(next verification.NodeID) verification.Node {
	return verification.Node{Type: verification.NodeConsent, Label: "Consent", Text: "We will verify you.", OnDeclined: verification.TargetNext, Next: next}
}

// checkNode asks the registry at most twice.
func checkNode(label string, next verification.NodeID) verification.Node {
	return verification.Node{
		Type: verification.NodeCheck, Label: label, Provider: "registry", Next: next,
		Retry: &verification.Retry{MaxDispatches: 2},
	}
}

func reviewNode(label string, next verification.NodeID) verification.Node {
	return verification.Node{Type: verification.NodeReview, Label: label, Next: next}
}

func branchNode(when string, then, otherwise verification.NodeID) verification.Node {
	return verification.Node{
		Type: verification.NodeBranch, Else: otherwise,
		Rules: []verification.Rule{{When: when, Next: then}},
	}
}

func endNode() verification.Node { return verification.Node{Type: verification.NodeEnd} }

// deskFlow asks for consent and for one check, and if the input says so
// review or two.
func deskFlow() verification.Definition {
	d := define("consent", nodes{
		"consent": consentNode("pan"),
		"pan":     checkNode("PAN", "gate"),
		"gate":    branchNode("review wanted", "review", "done"),
		"review":  reviewNode("Manual review", "more"),
		"more":    branchNode("again wanted", "again", "done"),
		"again":   reviewNode("Second look", "done"),
		"done":    endNode(),
	})
	d.RejectReasons = reasons()
	return d
}

// fourEyes is the desk where a verdict needs two reviewers.
func fourEyes() verification.Definition {
	d := deskFlow()
	d.FourEyes = true
	return d
}

// single is a workflow of one check, which change may change.
func single(change func(*verification.Node)) verification.Definition {
	n := checkNode("PAN", "done")
	if change != nil {
		change(&n)
	}
	return define("pan", nodes{"pan": n, "done": endNode()})
}

// ladder is a workflow with every type of node, a fallback, and a route for every failure.
func ladder() verification.Definition {
	pan := checkNode("PAN", "risk")
	pan.Key, pan.Fallback = "pan_verification", "backup"
	pan.OnFailed, pan.OnUnavailable = verification.TargetNext, verification.TargetNext
	face := checkNode("Face match", "done")
	face.Poll = &verification.Poll{IntervalSeconds: 5, TimeoutSeconds: 60}
	face.OnUnavailable = "review"
	review := reviewNode("Manual review", "face")
	review.Reason, review.OnReject = "The PAN did not pass.", "done"
	return define("consent", nodes{
		"consent": consentNode("details"),
		"details": {
			Type: verification.NodeCustomerInput, Label: "Your details", Optional: true, Next: "pan",
			Fields: verification.InputFields{
				{Name: "pan", Type: verification.FieldText, Pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$"},
				{
					Name: "place", Type: verification.FieldLocation,
					Within: []verification.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}},
				},
			},
		},
		"pan":    pan,
		"risk":   branchNode("pan failed", "review", "face"),
		"review": review,
		"face":   face,
		"done":   endNode(),
	})
}

// loop is a workflow that returns to the customer until the check passes. It has two
// nodes with one check key.
func loop() verification.Definition {
	pan, twin := checkNode("PAN", "twin"), checkNode("PAN", "done")
	pan.Key, twin.Key = "pan_verification", "pan_verification"
	pan.OnFailed, pan.OnUnavailable = "details", "details"
	twin.OnFailed, twin.OnUnavailable = "details", verification.TargetNext
	return define("details", nodes{
		"details": {
			Type: verification.NodeCustomerInput, Label: "Your details", Next: "pan",
			Fields: verification.InputFields{{Name: "pan", Type: verification.FieldText, Required: true}},
		},
		"pan":  pan,
		"twin": twin,
		"done": endNode(),
	})
}

// refusal is a workflow with a consent that leads to a reviewer when it is declined, and
// back to the consent after a rejection.
func refusal() verification.Definition {
	consent := consentNode("pan")
	consent.OnDeclined = "review"
	review := reviewNode("Manual review", "done")
	review.OnReject = "consent"
	d := define("consent", nodes{
		"consent": consent, "pan": checkNode("PAN", "review"), "review": review, "done": endNode(),
	})
	d.RunTTLSeconds, d.AbandonTimeoutSeconds = 0, 0
	return d
}

// reasons are the reject reasons of the desk.
func reasons() []verification.RejectReason {
	return []verification.RejectReason{
		{
			Code: "wrong_name", Label: "The name does not match", CustomerText: "Your name could not be confirmed.",
			CustomerTextIn: verification.Translations{"en": "Your name could not be confirmed.", "hi": "नाम की पुष्टि नहीं हुई।"},
		},
		{Code: "other", Label: "Other"},
	}
}

// form returns a definition that asks for the fields.
func form(fields ...verification.InputField) verification.Definition {
	return define("details", nodes{
		"details": {Type: verification.NodeCustomerInput, Label: "Details", Next: "done", Fields: fields},
		"done":    endNode(),
	})
}

// mumbai is the city and 500 km around it.
func mumbai() []verification.Area {
	return []verification.Area{{Latitude: 19.07, Longitude: 72.87, RadiusKM: 500}}
}

// screening is a workflow whose checks ask for re-screening.
func screening(checks ...verification.NodeID) verification.Definition {
	all := nodes{"done": endNode()}
	for i, id := range checks {
		n := checkNode("Screening", "done")
		if i+1 < len(checks) {
			n.Next = checks[i+1]
		}
		n.Rescreen = &verification.Rescreen{List: "sanctions", Every: verification.RescreenOnChange}
		all[id] = n
	}
	return define(checks[0], all)
}
