// Validation of definitions: their fields.

package workflow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// MaxNodes is the maximum number of nodes of a definition.
const MaxNodes = 500

// MaxDefinitionBytes is the maximum size of a definition as JSON: 4 MiB.
const MaxDefinitionBytes = 4 << 20

// MaxEndData is the maximum size of the data of an end as JSON, before and after it is computed: 16 KiB.
const MaxEndData = 16 << 10

// The other bounds of a definition.
const (
	maxSeconds    = 10 * 366 * 24 * 3600 // of any time limit: ten years
	maxReviewDue  = 366 * 24 * 60        // minutes: a year
	maxTimeout    = 600                  // seconds of one call of a provider
	maxLabel      = 200
	maxText       = 20000
	maxRules      = 50
	maxFields     = 100
	maxDispatches = 100
	maxRowFields  = 30   // of a row of a group
	maxRowFiles   = 128  // of all rows of a group; see rules.MaxUploads
	maxOptions    = 1000 // of a field
	maxLists      = 100  // media types or areas of a field
	// maxExpressions bounds the conditions and ${...} of all nodes, each of which
	// takes memory as long as the workflow is in use.
	maxExpressions = 1000
	// maxSuggestions bounds the wrong names for which a similar name is looked for.
	maxSuggestions = 100
)

// validator collects the problems of one definition.
type validator struct {
	def      Definition
	problems []verification.FieldError
	warnings []verification.FieldError
	// inspects says to look in each text for what cannot be meant.
	inspects bool
	// stored says that the version is stored: rules that came later only lead to warnings.
	stored bool
	// incomplete says that some edge leads nowhere, so that the graph cannot be
	// checked.
	incomplete bool
	back       map[verification.NodeID][]verification.NodeID // the reversed edges; made when first needed
	sorted     []verification.NodeID                         // the nodes in a stable order; made when first needed
	// suggested counts the names for which a suggestion was looked for.
	suggested int
	// members has what is known about the members of groups; see declaredMembers.
	members map[groupExtent]map[string]StepDeclaration
	// seen are the declarations at the last node.
	seen declared
	// listed has the steps that the list of a node with for_each reads.
	listed map[verification.NodeID][]verification.NodeID
	// described has the descriptions of providers, by name.
	described map[string]verification.ProviderDescription
}

func newValidator(d Definition) *validator {
	return &validator{def: d, listed: map[verification.NodeID][]verification.NodeID{}, members: map[groupExtent]map[string]StepDeclaration{}}
}

func (v *validator) problem(path, format string, args ...any) {
	v.problems = append(v.problems, verification.FieldError{Name: path, Message: fmt.Sprintf(format, args...)})
}

// newProblem reports what versions may have that were stored before it was refused: a warning for them.
func (v *validator) newProblem(path, format string, args ...any) {
	if v.stored {
		v.warnings = append(v.warnings, verification.FieldError{Name: path, Message: fmt.Sprintf(format, args...)})
		return
	}
	v.problem(path, format, args...)
}

func (v *validator) check(path string, holds bool, format string, args ...any) bool {
	if !holds {
		v.problem(path, format, args...)
	}
	return holds
}

func (v *validator) length(path, s string, minimum, maximum int) {
	n := utf8.RuneCountInString(s)
	switch {
	case n < minimum:
		v.problem(path, "is required")
	case n > maximum:
		v.problem(path, "%s", texts.TooLong(maximum))
	case !texts.Storable(s):
		v.problem(path, "must be valid UTF-8 without a NUL character")
	}
}

func (v *validator) within(path string, n, minimum, maximum float64) {
	v.check(path, !math.IsNaN(n) && n >= minimum && n <= maximum,
		"must be %s to %s", formatNumber(minimum), formatNumber(maximum))
}

// nodeCount is the message about a wrong number of nodes.
const nodeCount = "must have 1 to %d nodes"

// names returns the nodes in a stable order.
func (v *validator) names() []verification.NodeID {
	if v.sorted == nil {
		v.sorted = slices.Sorted(maps.Keys(v.def.Nodes))
	}
	return v.sorted
}

// hint returns what suggest returns for a wrong name, and the empty string after
// maxSuggestions calls.
func (v *validator) hint(suggest func() string) string {
	if v.suggested++; v.suggested > maxSuggestions {
		return ""
	}
	return suggest()
}

// limits checks the size of the definition. Nothing else is checked if it returns false.
func (v *validator) limits() bool {
	return v.check("nodes", len(v.def.Nodes) <= MaxNodes, nodeCount, MaxNodes) &&
		v.check("nodes", v.def.expressions() <= maxExpressions,
			"must have at most %d conditions and ${...} together", maxExpressions) &&
		v.check("", v.def.jsonBytes() <= MaxDefinitionBytes,
			"the workflow must be at most %d MiB as JSON: shorten its texts and options", MaxDefinitionBytes>>20)
}

// fields checks everything that does not depend on other nodes' edges. If
// providers is nil, any provider is allowed.
func (v *validator) fields(ctx context.Context, providers []string) {
	d := v.def
	v.check("workflow", validSlug(d.Workflow),
		"must be 1 to 64 lower-case letters, digits, - or _, beginning with a letter or digit")
	if d.ID != "" {
		_, err := verification.ParseWorkflowID(string(d.ID))
		v.check("id", err == nil, "must be a UUID")
	}
	v.length("name", d.Name, 1, maxLabel)
	v.length("description", d.Description, 0, maxText)
	v.within("run_ttl_seconds", float64(d.RunTTLSeconds), 0, maxSeconds)
	v.within("abandon_timeout_seconds", float64(d.AbandonTimeoutSeconds), 0, maxSeconds)
	v.within("review_due_minutes", float64(d.ReviewDueMinutes), 0, maxReviewDue)
	if d.LifecycleWebhookURL != "" {
		v.check("lifecycle_webhook_url", ValidateWebhookURL(d.LifecycleWebhookURL) == nil,
			"must be an absolute http(s) URL without user information or fragment")
	}
	for _, p := range d.Retention.Problems() {
		v.problem("retention."+p.Name, "%s", p.Message)
	}
	for i, e := range d.Notify {
		path := fmt.Sprintf("notify[%d]", i)
		if !slices.Contains(NoticeEvents(), e) {
			v.problem(path, "there is no event %q%s", e, v.hint(func() string { return suggestedEvent(e) }))
		} else {
			v.check(path, !slices.Contains(d.Notify[:i], e), "is there twice")
			v.check(path, e != NoticeReviewDueSoon || d.ReviewDueMinutes > 0, "needs review_due_minutes")
		}
		if i == maxNotify {
			break
		}
	}
	v.verdicts()
	v.intro()
	v.subject()
	v.searchedInput()
	v.edges(v.check("nodes", len(d.Nodes) > 0, nodeCount, MaxNodes))
	v.target("start", d.Start, true)
	for _, id := range v.names() {
		if ctx.Err() != nil {
			return
		}
		v.node(id, d.Nodes[id], providers)
	}
	v.labels()
	v.signals()
	v.unrendered()
}

// maxNotify bounds the events that are checked: there are fewer.
const maxNotify = 10

// suggestedEvent returns the hint for a wrong event.
func suggestedEvent(e NoticeEvent) string {
	var known []string
	for _, k := range NoticeEvents() {
		known = append(known, string(k))
	}
	return suggestion(string(e), known)
}

func validSlug(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' || s[0] == '_' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// nodePath returns the path of a node or a member in a definition.
func nodePath(id verification.NodeID) string {
	if node, _, member := id.Parts(); member != "" {
		return "nodes." + string(node) + ".members." + member
	}
	return "nodes." + string(id)
}

func (v *validator) node(id verification.NodeID, n Node, providers []string) {
	at := nodePath(id)
	v.check(at, validName(string(id)) && v.edges(id != TargetFail && id != TargetNext),
		"a node's name must be a lower-case letter followed by letters, digits or _, and not fail or next")
	v.length(at+".label", n.Label, 0, maxLabel)
	v.translated(at+".label", n.LabelIn, maxLabel)
	v.translated(at+".text", n.TextIn, maxText)
	v.each(at, n)
	v.element(at, n)
	v.redirects(at, n)
	switch n.Type {
	case NodeConsent:
		v.length(at+".text", n.Text, 1, maxText)
		v.declined(at+".on_declined", n.OnDeclined)
		v.asked(at, n)
		v.signal(at, n)
	case NodeCustomerInput:
		v.inputs(at, n)
		v.asked(at, n)
		v.signal(at, n)
	case NodeCheck:
		v.provider(at, n, providers)
	case NodeChecks:
		v.group(id, n, providers)
	case NodeBranch:
		v.check(at+".rules", len(n.Rules) > 0 && len(n.Rules) <= maxRules, "must have 1 to %d rules", maxRules)
		v.target(at+".else", n.Else, true)
		for i, r := range n.Rules {
			path := fmt.Sprintf("%s.rules[%d]", at, i)
			v.length(path+".when", r.When, 1, maxText)
			if r.AskAgain == nil {
				v.target(path+".next", r.Next, true)
				v.check(path+".when_used_up", r.WhenUsedUp == "", "is for a rule with ask_again")
			} else {
				v.askAgain(path, r)
			}
		}
	case NodeReview:
		v.length(at+".reason", n.Reason, 0, maxText)
		v.target(at+".on_reject", n.OnReject, false)
	case NodeEnd:
		v.length(at+".text", n.Text, 0, maxText)
		v.check(at+".outcome", n.Outcome == "" || validName(n.Outcome),
			"must be a lower-case letter followed by letters, digits or _, at most 64 characters")
		v.check(at+".data", len(n.Data) <= MaxEndData, "must be at most %d KiB", MaxEndData>>10)
	case "":
		v.edges(v.check(at+".type", false, "is required"))
		return
	default:
		v.edges(v.check(at+".type", false,
			"there is no type %q (supported: consent, customer_input, check, checks, branch, review, end)", n.Type))
		return
	}
	if n.Type != NodeBranch && n.Type != NodeEnd {
		v.target(at+".next", n.Next, true)
	}
}

// target checks that an edge leads to a node or to one of the given routes.
func (v *validator) target(path string, to verification.NodeID, required bool, routes ...verification.NodeID) {
	switch {
	case to == "":
		v.edges(v.check(path, !required, "is required"))
	case slices.Contains(routes, to):
	case to == TargetFail:
		v.edges(v.check(path, false, "must be a node: fail is for on_failed and on_unavailable"))
	case to == TargetNext:
		v.edges(v.check(path, false, "must be a node: next is for on_declined, on_failed and on_unavailable"))
	default:
		if _, ok := v.def.Nodes[to]; !v.edges(ok) {
			v.problem(path, "there is no node %q%s", to, v.hint(func() string {
				return DidYouMean(string(to), slices.Concat(v.names(), routes))
			}))
		}
	}
}

// declined checks the on_declined of a consent. It has no default: the author must say
// whether the run continues.
func (v *validator) declined(path string, to verification.NodeID) {
	if to == "" {
		v.edges(v.check(path, false, "is required: name the node that a declined consent leads to, or next to continue anyway"))
		return
	}
	v.target(path, to, true, TargetNext)
}

// edges records that an edge is missing or leads nowhere if ok is false. It
// returns ok.
func (v *validator) edges(ok bool) bool {
	v.incomplete = v.incomplete || !ok
	return ok
}

func (v *validator) provider(at string, n Node, providers []string) {
	known := func(path, name string) {
		if providers == nil || slices.Contains(providers, name) {
			return
		}
		v.problem(path, "there is no provider %q%s", name, v.hint(func() string { return suggestion(name, providers) }))
	}
	v.check(at+".key", n.Key == "" || validName(n.Key),
		"must be a lower-case letter followed by letters, digits or _")
	if v.check(at+".provider", n.Provider != "", "is required") {
		known(at+".provider", n.Provider)
	}
	if n.Fallback != "" {
		known(at+".fallback", n.Fallback)
		v.check(at+".fallback", n.Fallback != n.Provider, "must differ from the provider")
	}
	v.within(at+".timeout_seconds", n.TimeoutSeconds, 0, maxTimeout)
	if r := n.Retry; r != nil {
		v.within(at+".retry.max_dispatches", float64(r.MaxDispatches), 0, maxDispatches)
		v.within(at+".retry.backoff_seconds", r.BackoffSeconds, 0, maxSeconds)
		v.within(at+".retry.max_backoff_seconds", r.MaxBackoffSeconds, 0, maxSeconds)
	}
	if p := n.Poll; p != nil {
		v.within(at+".poll.interval_seconds", p.IntervalSeconds, 0, maxSeconds)
		v.within(at+".poll.timeout_seconds", p.TimeoutSeconds, 0, maxSeconds)
	}
	v.target(at+".on_failed", n.OnFailed, false, TargetFail, TargetNext)
	v.target(at+".on_unavailable", n.OnUnavailable, false, TargetFail, TargetNext)
	if n.Rescreen != nil {
		v.rescreen(at+".rescreen", n)
	}
}

// labels finds check keys that have different labels at two nodes.
func (v *validator) labels() {
	first := map[string]step{}
	for _, id := range v.names() {
		for _, s := range v.def.checksAt(id) {
			key := s.check.CheckKey(s.id)
			other, seen := first[key]
			if !seen {
				first[key] = s
				continue
			}
			if of, _, _ := other.id.Parts(); of == id {
				continue // group says so
			}
			v.check(nodePath(s.id)+".label", s.label == other.label,
				"the check key %q is labelled %q at node %s", key, other.label, other.id)
		}
	}
}

// err returns every problem that was found, sorted by path.
func (v *validator) err() error {
	byPath(v.problems)
	return &verification.Error{Kind: verification.ErrInvalid, Subject: "workflow", Message: "the definition is not valid", Fields: v.problems}
}

func byPath(problems []verification.FieldError) {
	slices.SortStableFunc(problems, func(a, b verification.FieldError) int { return cmp.Compare(a.Name, b.Name) })
}

// validName reports whether s can name a node, a field or a check key.
func validName(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// formatNumber formats a limit without an exponent.
func formatNumber(f float64) string {
	precision := -1
	if math.Abs(f) >= exact {
		precision = 0 // all digits, not only those that tell it from other float64s
	}
	return strconv.FormatFloat(f, 'f', precision, 64)
}
