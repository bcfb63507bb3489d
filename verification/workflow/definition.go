// Definitions: the nodes of one version of a workflow.

package workflow

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Definition is one version of a workflow, as it is written in a file. It is
// plain data; Compile validates it and makes it runnable. See docs/workflows.md.
type Definition struct {
	// Workflow is the stable name inside the tenant.
	Workflow string `json:"workflow"`
	// ID is the id of the workflow; empty means DeriveWorkflowID.
	ID          verification.WorkflowID `json:"id,omitempty"`
	Name        string                  `json:"name"`
	Description string                  `json:"description,omitempty"`
	// RunTTLSeconds is the time from the start of a run to its deadline; 0 means
	// no deadline.
	RunTTLSeconds int64 `json:"run_ttl_seconds,omitempty"`
	// AbandonTimeoutSeconds is how long a customer may be idle until the run is
	// reported as abandoned; 0 means no limit.
	AbandonTimeoutSeconds int64 `json:"abandon_timeout_seconds,omitempty"`
	// ReviewDueMinutes is how soon a verdict is due once a run needs one; 0 means no due
	// time.
	ReviewDueMinutes int64 `json:"review_due_minutes,omitempty"`
	// FourEyes says that a verdict needs two reviewers: one proposes it, another one
	// confirms it.
	FourEyes bool `json:"four_eyes,omitempty"`
	// Subject says whom runs are about, and Compare which values must agree. Without them,
	// package facts looks for well-known fields, and for fields with the same name.
	Subject *SubjectFields `json:"subject,omitempty"`
	Compare []Comparison   `json:"compare,omitempty"`
	// Intro is what the journey page says before the first step; nil for nothing.
	Intro *Intro `json:"intro,omitempty"`
	// RejectReasons are what a reviewer chooses from when rejecting a run; none if reviewers
	// give no reason.
	RejectReasons []RejectReason `json:"reject_reasons,omitempty"`
	// ResubmitReasons are why a customer may be asked again, beside those of every workflow.
	ResubmitReasons []RejectReason `json:"resubmit_reasons,omitempty"`
	// Notes says when reviewers must write notes; empty means NotesOptional.
	Notes NotesRule `json:"notes,omitempty"`
	// LifecycleWebhookURL is set on the workflow, unless a client has set another one.
	LifecycleWebhookURL string `json:"lifecycle_webhook_url,omitempty"`
	// Notify are the events, beside the end of a run, of which the client is notified at
	// the webhook.
	Notify []NoticeEvent `json:"notify,omitempty"`
	// Publish makes this version the one that new runs execute; nil means true.
	Publish *bool `json:"publish,omitempty"`
	// Retired says that the workflow takes no new runs. It belongs to the workflow and not
	// to the version.
	Retired bool `json:"retired,omitempty"`
	// Retention says how long the data of runs is kept, also of those that have started. It belongs
	// to the workflow and not to the version.
	Retention verification.Retention `json:"retention,omitzero"`
	// InputSchema is a JSON Schema for the input of a start; nil accepts any.
	InputSchema verification.Data            `json:"input_schema,omitempty"`
	Start       verification.NodeID          `json:"start"`
	Nodes       map[verification.NodeID]Node `json:"nodes"`
}

// NodeType is the type of a node.
type NodeType string

// The node types. Branch and end are not steps: they never appear on a report.
const (
	NodeConsent       NodeType = "consent"
	NodeCustomerInput NodeType = "customer_input"
	NodeCheck         NodeType = "check"
	NodeChecks        NodeType = "checks" // a group of checks
	NodeBranch        NodeType = "branch"
	NodeReview        NodeType = "review"
	NodeEnd           NodeType = "end"
)

// Node is one node of a definition. Label and Next belong to most types; each group
// of fields below belongs to the types in its comment. Fields of another type have no
// effect; a definition file that has any is invalid.
type Node struct {
	Type  NodeType            `json:"type"`
	Label string              `json:"label,omitempty"`
	Next  verification.NodeID `json:"next,omitempty"`
	// When is the condition under which a run visits a step; empty means always. Otherwise the run
	// goes on at Next.
	When string `json:"when,omitempty"`
	// ForEach is an expression for a list, of a check, a group of checks or a customer input. The run makes the step for
	// each element of the list.
	ForEach string `json:"for_each,omitempty"`
	// Element says who the elements are; nil if the workflow does not say.
	Element *ElementFields `json:"element,omitempty"`

	// Consent and customer input: the name of the signal that delivers the
	// customer's answer; empty means the node's name followed by _submitted.
	Signal string `json:"signal,omitempty"`

	// Consent, customer input, end, and a check with RedirectHosts.
	Text string `json:"text,omitempty"`
	// LabelIn and TextIn are Label and Text by language; Label and Text are then
	// those in the default language.
	LabelIn Translations `json:"-"`
	TextIn  Translations `json:"-"`

	// Consent.
	// OnDeclined is next or a node. It is required; in an older version without
	// it, a declined consent leads to Next.
	OnDeclined verification.NodeID `json:"on_declined,omitempty"`

	// Customer input.
	// MaxRounds is how often the customer may be asked again; 0 means DefaultRounds. It is for a consent, too.
	MaxRounds int         `json:"max_rounds,omitempty"`
	Optional  bool        `json:"optional,omitempty"` // the customer may opt out
	Fields    InputFields `json:"fields,omitempty"`
	// Groups are the screens of the journey page; none means one with all fields. Each
	// field is in one group. The answer is one, whatever the groups.
	Groups []Screen `json:"groups,omitempty"`

	// Check.
	Key            string              `json:"key,omitempty"` // empty means the node's name
	Provider       string              `json:"provider,omitempty"`
	With           verification.Data   `json:"with,omitempty"` // strings may hold ${...}
	TimeoutSeconds float64             `json:"timeout_seconds,omitempty"`
	Retry          *Retry              `json:"retry,omitempty"`
	Poll           *Poll               `json:"poll,omitempty"`
	Fallback       string              `json:"fallback,omitempty"`
	OnFailed       verification.NodeID `json:"on_failed,omitempty"` // fail, next or a node
	// OnUnavailable is fail, next or a node; of a group of checks, too.
	OnUnavailable verification.NodeID `json:"on_unavailable,omitempty"`
	// Rescreen requests the re-screening of completed runs; nil for never.
	Rescreen *Rescreen `json:"rescreen,omitempty"`
	// RedirectHosts are the hosts that the provider may lead the customer to: names, or *.example.com for all
	// below one. None means that it leads nobody away.
	RedirectHosts []string `json:"redirect_hosts,omitempty"`

	// Group of checks.
	Members Members `json:"members,omitempty"`
	Order   Order   `json:"order,omitempty"` // empty means OrderTogether
	Need    Need    `json:"need,omitempty"`
	// Until is the condition under which the answer of a member confirms; empty means that it
	// passed.
	Until    string              `json:"until,omitempty"`
	Finish   Finish              `json:"finish,omitempty"`     // empty means FinishDecided
	OnNotMet verification.NodeID `json:"on_not_met,omitempty"` // fail, next or a node

	// Branch.
	Rules []Rule              `json:"rules,omitempty"`
	Else  verification.NodeID `json:"else,omitempty"`

	// Review.
	Reason   string              `json:"reason,omitempty"`
	OnReject verification.NodeID `json:"on_reject,omitempty"` // empty means next
	// FourEyes says that the verdict of this step needs two reviewers, as Definition.FourEyes does for every verdict.
	FourEyes bool `json:"four_eyes,omitempty"`

	// End: a short name for the way in which the run ended, such as declined.
	Outcome string `json:"outcome,omitempty"`
	// Data is computed at the end for whoever reads the run, such as a risk class; strings may hold ${...}. It has at most
	// MaxEndData bytes once it is computed.
	Data verification.Data `json:"data,omitempty"`
}

// The two targets that are not nodes. on_failed and on_unavailable accept both,
// on_declined accepts TargetNext.
const (
	TargetFail verification.NodeID = "fail" // the run fails
	TargetNext verification.NodeID = "next" // the run continues at the node's next
)

// Retry says how often and how soon a check without a result is dispatched
// again.
type Retry struct {
	// MaxDispatches bounds the dispatches to one provider during one visit, the first one
	// included; 1 to 100, 0 means 4.
	MaxDispatches int `json:"max_dispatches,omitempty"`
	// BackoffSeconds is the maximum wait before the second dispatch; the real wait is
	// between half of it and all of it. It doubles with each dispatch. 0 means 1.
	BackoffSeconds float64 `json:"backoff_seconds,omitempty"`
	// MaxBackoffSeconds bounds the doubling; 0 means 60.
	MaxBackoffSeconds float64 `json:"max_backoff_seconds,omitempty"`
}

// Poll says how a pending check is polled.
type Poll struct {
	// IntervalSeconds is the wait between polls if the provider names none; 0
	// means 0.2.
	IntervalSeconds float64 `json:"interval_seconds,omitempty"`
	// TimeoutSeconds is how long a result may be pending before the dispatch
	// counts as failed; 0 means 86400.
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`
}

// Rescreen requests the re-screening of the completed runs that have made the check.
type Rescreen struct {
	// List is the list that the check screens against.
	List string `json:"list"`
	// Every says when; RescreenOnChange is the only value.
	Every string `json:"every"`
}

// RescreenOnChange screens completed runs again when the version of the list changes.
const RescreenOnChange = "change"

// Rule leads the run to Next if its condition holds, or back to a step of its customer.
type Rule struct {
	When string              `json:"when"`
	Next verification.NodeID `json:"next"`
	// AskAgain is in place of Next; nil for none.
	AskAgain *AskAgain `json:"ask_again,omitempty"`
	// WhenUsedUp is where a rule with AskAgain leads if the customer cannot be asked again. Without it the rule is passed over.
	WhenUsedUp verification.NodeID `json:"when_used_up,omitempty"`
}

// passable reports whether the run may go past the rule although its condition holds.
func (r Rule) passable() bool { return r.AskAgain != nil && r.WhenUsedUp == "" }

// Published reports whether saving this version publishes it.
func (d Definition) Published() bool { return d.Publish == nil || *d.Publish }

// Interactive reports whether a run of this definition can wait on its customer.
func (d Definition) Interactive() bool {
	for _, n := range d.Nodes {
		if n.Type == NodeConsent || n.Type == NodeCustomerInput || len(n.RedirectHosts) > 0 {
			return true
		}
	}
	return false
}

// VersionHash returns the SHA-256 of the definition's canonical JSON, in
// hexadecimal. Equal definitions have equal hashes. ID, Publish, Retired,
// Retention and LifecycleWebhookURL are not part of the content.
func (d Definition) VersionHash() string {
	d.ID, d.Publish, d.Retired, d.Retention, d.LifecycleWebhookURL = "", nil, false, verification.Retention{}, ""
	raw, err := json.Marshal(d)
	if err != nil {
		// A definition is plain data: only a Data that is not JSON fails.
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%x", sum)
}

// DeriveWorkflowID returns the id of a workflow whose definition has none: a
// version 8 UUID that depends only on the tenant and the name.
func DeriveWorkflowID(t verification.TenantID, workflow string) verification.WorkflowID {
	sum := sha256.Sum256([]byte("verifyd workflow\x00" + string(t) + "\x00" + workflow))
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	x := fmt.Sprintf("%x", sum[:16])
	return verification.WorkflowID(x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:])
}

// CheckInfo is a check that a run of a workflow can produce.
type CheckInfo struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// Checks returns the checks of the definition, breadth first from the start, one entry per
// key. It is a superset of the checks of one run. See docs/api.md,
// "WorkflowDetail".
func (d Definition) Checks() []CheckInfo {
	checks, seen := []CheckInfo{}, map[string]bool{}
	for _, id := range d.BreadthFirst() {
		for _, s := range d.checksAt(id) {
			if key := s.check.CheckKey(s.id); !seen[key] {
				seen[key] = true
				checks = append(checks, CheckInfo{Key: key, Label: s.label})
			}
		}
	}
	return checks
}

// BreadthFirst returns the nodes that can be reached from the start, which comes first.
func (d Definition) BreadthFirst() []verification.NodeID {
	others := slices.DeleteFunc(d.Reach(d.Start, nil), func(id verification.NodeID) bool { return id == d.Start })
	return slices.DeleteFunc(slices.Insert(others, 0, d.Start), func(id verification.NodeID) bool {
		_, ok := d.Nodes[id]
		return !ok
	})
}

// Reach returns the nodes that one or more edges from a node lead to, breadth first.
// The paths do not enter a node for which stop, if not nil, returns true.
func (d Definition) Reach(from verification.NodeID, stop func(verification.NodeID) bool) []verification.NodeID {
	return walk([]verification.NodeID{from}, func(id verification.NodeID) []verification.NodeID { return d.Nodes[id].Targets() }, stop)
}

// walk returns the nodes that one or more calls of next lead to, breadth first. It
// leaves out those for which stop, if not nil, returns true, and what follows them.
func walk(from []verification.NodeID, next func(verification.NodeID) []verification.NodeID, stop func(verification.NodeID) bool) (reached []verification.NodeID) {
	seen := map[verification.NodeID]bool{}
	for queue := from; len(queue) > 0; queue = queue[1:] {
		for _, to := range next(queue[0]) {
			if !seen[to] && (stop == nil || !stop(to)) {
				seen[to] = true
				reached, queue = append(reached, to), append(queue[:len(queue):len(queue)], to)
			}
		}
	}
	return reached
}

// Route is one way out of a node.
type Route struct {
	// On is the condition of a rule, or else, next, declined, failed, not met, unavailable or
	// reject.
	On string
	To verification.NodeID
}

// Routes returns the ways out of the node in the order of its fields. A node of an
// unknown type leads to Next.
func (n Node) Routes() []Route {
	var all []Route
	add := func(on string, to verification.NodeID) {
		if to == TargetNext {
			to = n.Next
		}
		if to != "" && to != TargetFail {
			all = append(all, Route{on, to})
		}
	}
	switch n.Type {
	case NodeEnd:
		return nil
	case NodeBranch:
		for _, r := range n.Rules {
			for _, to := range r.targets() {
				add(r.When, to)
			}
		}
		add("else", n.Else)
		return all
	case NodeConsent, NodeCustomerInput, NodeCheck, NodeChecks, NodeReview:
	}
	add("next", n.Next)
	switch n.Type {
	case NodeConsent:
		add("declined", n.OnDeclined)
	case NodeCheck:
		add("failed", n.OnFailed)
		add("unavailable", n.OnUnavailable)
	case NodeChecks:
		add("not met", n.OnNotMet)
		add("unavailable", n.OnUnavailable)
	case NodeReview:
		add("reject", n.OnReject)
	case NodeCustomerInput, NodeBranch, NodeEnd:
	}
	return all
}

// Targets returns the nodes of Routes.
func (n Node) Targets() []verification.NodeID {
	var to []verification.NodeID
	for _, r := range n.Routes() {
		to = append(to, r.To)
	}
	return to
}

// IsStep reports whether a report can show a card for the node.
func (n Node) IsStep() bool { return n.Type != NodeBranch && n.Type != NodeEnd }

// Title returns what people read about a node: its label or, without one, its id.
func (n Node) Title(id verification.NodeID) string { return cmp.Or(n.Label, string(id)) }

// CheckKey returns the key of a check: Key or, without one, the id.
func (n Node) CheckKey(id verification.NodeID) string { return cmp.Or(n.Key, string(id)) }

// SignalName returns the name of the signal that a customer step waits for: Signal or, without one, the id and _submitted.
// That of an element has its number, such as owners_2_submitted: an answer to it answers no other element.
func (n Node) SignalName(step verification.NodeID) string {
	node, element, _ := step.Parts()
	signal, id := n.Signal, string(node)
	if element > 0 {
		id += "_" + strconv.Itoa(element)
		if signal != "" {
			signal += "_" + strconv.Itoa(element)
		}
	}
	return cmp.Or(signal, id+"_submitted")
}

// Timeout returns how long one call of the provider may take; 30 s by default.
func (n Node) Timeout() time.Duration { return secondsOr(n.TimeoutSeconds, 30) }

// MaxDispatches returns the maximum number of dispatches to one provider during one visit
// of the step; 4 by default.
func (n Node) MaxDispatches() int { return cmp.Or(n.retry().MaxDispatches, 4) }

// Backoff returns the maximum wait before the next dispatch of a provider after
// the given number of failed ones, at least 1. The real wait is between half of it
// and all of it, unless a verification.RetryError of the provider sets a later time.
func (n Node) Backoff(failed int) time.Duration {
	wait, limit := secondsOr(n.retry().BackoffSeconds, 1), n.MaxBackoff()
	for range failed - 1 {
		if wait >= limit {
			break
		}
		wait *= 2
	}
	return min(wait, limit)
}

// MaxBackoff returns the maximum wait before the next dispatch; 60 s by default.
func (n Node) MaxBackoff() time.Duration { return secondsOr(n.retry().MaxBackoffSeconds, 60) }

func (n Node) retry() *Retry { return cmp.Or(n.Retry, &Retry{}) }

// PollInterval returns the wait between polls if the provider names none; 200 ms by
// default.
func (n Node) PollInterval() time.Duration { return secondsOr(n.poll().IntervalSeconds, 0.2) }

// PollTimeout returns how long a result may be pending; 24 h by default.
func (n Node) PollTimeout() time.Duration { return secondsOr(n.poll().TimeoutSeconds, 86400) }

func (n Node) poll() *Poll { return cmp.Or(n.Poll, &Poll{}) }

func secondsOr(s, otherwise float64) time.Duration {
	return time.Duration(cmp.Or(s, otherwise) * float64(time.Second))
}

// Leads returns where a check leads that did not pass, if its on_failed or on_unavailable is to. It
// is false if the run fails.
func (n Node) Leads(to verification.NodeID) (verification.NodeID, bool) {
	switch to {
	case "", TargetFail:
		return "", false
	case TargetNext:
		return n.Next, true
	}
	return to, true
}
