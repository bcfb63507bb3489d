// Orders: runs whose end is known before they start.

package soak_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// order is one run. It is determined by its number and the seed, so that a run is
// known by its reference even if the response to its start was lost.
type order struct {
	number   int
	workflow string // the id of the workflow, or its last digit
	scripts  map[string]string
	wait     *time.Duration // of the start
	then     action
	want     end
}

// action is the action of the client after the start.
type action struct {
	verb    string // signal, cancel, loop or webhook; empty for nothing
	signal  string
	payload string
	wait    time.Duration // before the webhook is set
}

// end is the end of a run.
type end struct {
	Status   rules.Status
	Code     rules.ErrorCode
	Check    string
	Decision rules.Decision
}

// The actions.
const (
	doSignal  = "signal"
	doCancel  = "cancel"
	doLoop    = "loop"
	doWebhook = "webhook"
)

func keys() []string { return []string{"pan", "gst", "bank", "watchlist", "court"} }

// newOrder returns the order with a number.
func newOrder(seed uint64, number int) order {
	rng := rand.New(rand.NewPCG(seed, uint64(number)))
	o := order{number: number, scripts: map[string]string{}, want: end{Status: rules.StatusCompleted}}
	if rng.IntN(4) == 0 {
		o.wait = new(3 * time.Second)
	}
	switch dice := rng.IntN(100); {
	case dice < 39:
		o.records(rng)
	case dice < 42:
		o.workflow = "6"
		o.want.Decision = rules.DecisionReview
		o.then = action{verb: doLoop}
	case dice < 45:
		o.workflow = lateWorkflow(rng.IntN(lateWorkflows))
		o.wait = new(time.Duration)
		slow := time.Duration(30+rng.IntN(120)) * time.Millisecond
		o.scripts["pan"] = "slow:" + slow.String()
		o.then = action{verb: doWebhook, wait: time.Duration(rng.Int64N(int64(slow)))}
	case dice < 55:
		o.records(rng)
		check := keys()[rng.IntN(5)]
		o.scripts[check] = "fail"
		o.want = end{Status: rules.StatusFailed, Code: rules.CodeCheckFailed, Check: check}
	case dice < 60:
		o.records(rng)
		check := keys()[rng.IntN(5)]
		o.scripts[check] = "unavailable"
		o.want = end{Status: rules.StatusFailed, Code: rules.CodeCheckUnavailable, Check: check}
	case dice < 74:
		o.workflow = "2"
		o.checks(rng, "pan", "court")
		o.want.Decision = []rules.Decision{rules.DecisionApprove, rules.DecisionReject}[rng.IntN(2)]
		o.then = action{verb: doSignal, signal: workflow.ReviewSignal, payload: fmt.Sprintf(`{"decision":%q}`, o.want.Decision)}
	case dice < 84:
		o.workflow = "3"
		o.checks(rng, "pan")
		o.then = action{verb: doSignal, signal: "consent_submitted", payload: `{"consent_status":"success"}`}
	case dice < 88:
		o.workflow = "3"
		o.then = action{verb: doSignal, signal: "consent_submitted", payload: `{"consent_status":"declined"}`}
	case dice < 92:
		o.workflow = "4"
		o.want = end{Status: rules.StatusExpired, Code: rules.CodeLinkExpired}
	case dice < 95:
		o.workflow = "5"
		o.want = end{Status: rules.StatusExpired, Code: rules.CodeRunExpired}
	default:
		o.workflow = strconv.Itoa(2 + rng.IntN(2))
		o.then = action{verb: doCancel}
		o.want = end{Status: rules.StatusCancelled}
	}
	if o.want.Status == rules.StatusCompleted && o.want.Decision == rules.DecisionNone && o.flagged() {
		o.want.Decision = rules.DecisionReview
	}
	return o
}

func (o *order) records(rng *rand.Rand) {
	o.workflow = "1"
	o.checks(rng, keys()...)
}

// checks chooses a script for each check, all of which pass in the end.
func (o *order) checks(rng *rand.Rand, keys ...string) {
	for _, key := range keys {
		switch rng.IntN(8) {
		case 0:
			o.scripts[key] = fmt.Sprintf("flaky:%d", 1+rng.IntN(2))
		case 1, 2:
			o.scripts[key] = fmt.Sprintf("slow:%dms", 50+rng.IntN(550))
		case 3:
			o.scripts[key] = fmt.Sprintf("pending:%d", 1+rng.IntN(3))
		}
	}
}

// flagged reports whether a completed run has flags: a step that recovered, or a
// declined consent.
func (o *order) flagged() bool {
	for _, script := range o.scripts {
		if strings.HasPrefix(script, "flaky") {
			return true
		}
	}
	return strings.Contains(o.then.payload, "declined")
}

func (o *order) workflowID() verification.WorkflowID {
	if isLate(o.workflow) {
		return verification.WorkflowID(o.workflow)
	}
	return workflowID(o.workflow)
}

const referencePrefix = "person-"

// request returns the start of the order, which has the same key each time.
func (o *order) request() client.StartRequest {
	return client.StartRequest{
		ReferenceID: referencePrefix + strconv.Itoa(o.number), Input: map[string]any{"sandbox": o.scripts},
		IdempotencyKey: fmt.Sprintf("order-%d", o.number), Wait: o.wait,
	}
}

// orderOf returns the order of a run.
func orderOf(seed uint64, reference string) (order, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(reference, referencePrefix))
	if err != nil {
		return order{}, fmt.Errorf("a run has the reference %q, which no order has", reference)
	}
	return newOrder(seed, number), nil
}

// slowness returns the duration of a check with a script.
func slowness(input verification.Data, key string) time.Duration {
	var given struct {
		Sandbox map[string]string `json:"sandbox"`
	}
	if err := json.Unmarshal(input, &given); err != nil {
		return 0
	}
	rest, slow := strings.CutPrefix(given.Sandbox[key], "slow:")
	if !slow {
		return 0
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0
	}
	return d
}
