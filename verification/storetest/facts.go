// One event of every kind, with every field filled in.

package storetest

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// odd is data that a store which reads and writes it again does not give back
// byte for byte: the order of keys, numbers, escapes, and what is escaped.
const odd = `{"z":1,"a":"<b> & \u00e9 é 漢字 🙂 \"q\" \\ \/","n":1.50,"e":1e2,"big":12345678901234567890,` +
	`"deep":{"y":[null,true,{}],"x":[]},"line":"` + "\u2028" + `"}`

// prose is text that goes wrong where characters are counted or escaped.
const prose = "Zoë said: \"100% <ok>\" & 'fine'\n\t漢字 🙂 \\ %s"

// everyFact is one fact of each kind, with every field filled in. Those that
// may leave a field out come a second time without it.
func everyFact() []verification.Fact {
	data := verification.Data(odd)
	return []verification.Fact{
		verification.Started{
			Workflow: onboarding, WorkflowName: prose, Version: 7, VersionHash: "first", ReferenceID: prose,
			Input: data, RedirectURI: "https://app.example/done?a=1&b=2", RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900,
		},
		verification.Dispatched{Node: "pan", Key: "pan_verification", Label: prose, Provider: "sandbox", Dispatch: 3, Visit: 2},
		verification.Pended{Node: "pan", Handle: prose, PollAt: moment(time.Minute)},
		verification.PollFailed{Node: "pan", Cause: prose, PollAt: moment(2 * time.Minute)},
		verification.Answered{Node: "pan", Passed: true, Data: data},
		verification.Answered{Node: "pan"},
		verification.DispatchFailed{Node: "pan", Cause: prose, RetryAt: moment(3 * time.Minute)},
		verification.DispatchFailed{Node: "pan", Cause: prose},
		verification.Unanswered{Node: "pan", Data: data},
		verification.Unanswered{Node: "pan"},
		verification.CustomerAwaited{Node: "consent", Type: verification.NodeConsent, Label: prose, Signal: "consent_submitted"},
		verification.CustomerCame{Node: "consent"},
		verification.DocumentUploaded{
			Node: "consent", Document: "e0000000-0000-7000-8000-000000000001", Field: prose,
			MediaType: "image/jpeg", Size: 1 << 40, SHA256: "ab",
		},
		verification.CustomerSubmitted{Node: "consent", Data: data, Request: "a request"},
		verification.CustomerSubmitted{Node: "consent"},
		verification.BranchTaken{Node: "risk", When: "steps.pan.data.name_match < 0.8", Next: "review", Seen: data},
		verification.BranchTaken{Node: "risk", Next: "done"},
		verification.ReviewAsked{Node: "review", Label: prose, Reason: prose},
		verification.VerdictRecorded{Node: "review", Decision: verification.DecisionReject, Notes: prose, By: prose, Request: "a request"},
		verification.VerdictRecorded{Decision: verification.DecisionApprove},
		verification.Completed{Node: "done"},
		verification.Failed{Node: "pan", Cause: prose, Error: verification.RunError{
			Code: verification.CodeCheckUnavailable, Check: "pan_verification", Message: prose,
		}},
		verification.Expired{Error: verification.RunError{
			Code: verification.CodeRunExpired, Check: "pan_verification", Message: prose,
		}},
		verification.Cancelled{},
	}
}
