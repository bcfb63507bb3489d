// Badges of a run: its status, its outcome, its decision.

package shell

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification/rules"
)

// StatusBadge has no tone for a run that is completed: its outcome and its decision have one.
func (s Session) StatusBadge(status rules.Status) web.Badge {
	b := web.Badge{Text: s.Say("status." + string(status))}
	switch status {
	case rules.StatusFailed, rules.StatusExpired:
		b.Tone, b.Icon = web.Bad, "cross"
	case rules.StatusInProgress:
		b.Tone, b.Icon = web.Info, "hourglass"
	case rules.StatusCompleted, rules.StatusAbandoned, rules.StatusCancelled:
	}
	return b
}

// OutcomeBadge returns the outcome of a run in the words of its workflow. Its tone is the tone
// of the usual words; others have none. ok is false for a run without an outcome.
func OutcomeBadge(outcome string) (b web.Badge, ok bool) {
	b.Text = outcome
	switch strings.ToLower(outcome) {
	case "approved", "accepted", "passed", "verified", "clear":
		b.Tone, b.Icon = web.Good, "tick"
	case "refused", "rejected", "failed", "denied", "blocked":
		b.Tone, b.Icon = web.Bad, "cross"
	}
	return b, outcome != ""
}

func (s Session) DecisionBadge(d rules.Decision) web.Badge {
	switch d {
	case rules.DecisionReview:
		return web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Say("decision.review")}
	case rules.DecisionApprove:
		return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Say("decision.approve")}
	case rules.DecisionReject:
		return web.Badge{Tone: web.Bad, Icon: "cross", Text: s.Say("decision.reject")}
	case rules.DecisionNone:
	}
	return web.Badge{Text: s.Say("decision.none")}
}

// AssigneeBadge says to whom a run is assigned; nil for nobody.
func (s Session) AssigneeBadge(a rules.Assignment) *web.Badge {
	b := web.Badge{Icon: "person", Text: s.Say("desk.for", Isolate(a.To.Name()))}
	switch {
	case a.To.Key() == "":
		return nil
	case slices.Contains(rules.AssigneeKeys(s.Reviewer), a.To.Key()):
		b.Tone = web.Info
		if a.To.Team == "" {
			b.Text = s.Say("desk.foryou")
		}
	}
	if a.Escalated {
		b.Tone, b.Icon, b.Text = web.Warning, "flag", s.Say("desk.escalated", Isolate(a.To.Name()))
	}
	return &b
}
