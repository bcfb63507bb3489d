// The timeline of a run in the language of the reader.

package console

import (
	"github.com/verifyd/verifyd/internal/web"
	"github.com/verifyd/verifyd/verification"
)

// timelineLine is one line of the timeline.
type timelineLine struct {
	Tone   web.Tone
	At     instant
	Text   string
	Detail string // what a person or a program wrote; may be empty
	Notes  []string
}

// branchView is where a branch led.
type branchView struct {
	At     instant
	Branch string
	To     string
	When   string // the condition that held; empty for else
	Values dataTable
}

// verdictView is one verdict, proposed or given.
type verdictView struct {
	Badge web.Badge
	By    string
	At    age
	Notes string
}

// timelineLine returns the line of an entry.
func (c *console) timelineLine(s session, e verification.TimelineEntry) timelineLine {
	l := timelineLine{At: s.At(e.At), Text: s.happened(e), Tone: toneOf(e.Kind), Detail: c.sentence(s, e.Text)}
	if e.Kind == verification.TimelinePassed && e.Text != "" { // but the visit has a flag
		l.Tone = web.Warning
	}
	if e.Visit > 0 {
		l.Notes = append(l.Notes, s.say("timeline.visit", e.Visit))
	}
	if e.Count > 1 {
		l.Notes = append(l.Notes, s.say("timeline.times", e.Count, s.At(e.Until).Text))
	}
	if !e.Next.IsZero() {
		l.Notes = append(l.Notes, s.say("timeline.next", s.At(e.Next).Text))
	}
	return l
}

// happened returns the sentence of an entry.
func (s session) happened(e verification.TimelineEntry) string {
	key, label := "timeline."+string(e.Kind), isolate(e.Label)
	switch e.Kind {
	case verification.TimelineStarted:
		return s.say(key, isolate(e.Workflow), e.Version)
	case verification.TimelineDispatched:
		return s.say(key, label, isolate(e.Provider))
	case verification.TimelineRetried:
		return s.say(key, label, isolate(e.Provider), e.Number)
	case verification.TimelineUploaded, verification.TimelineHitsFound:
		return s.say(key, label, isolate(e.Field))
	case verification.TimelineBranched, verification.TimelineElse:
		return s.say(key, label, isolate(e.ToLabel))
	case verification.TimelineApproved, verification.TimelineRejected, verification.TimelineProposedApproval,
		verification.TimelineProposedRejection, verification.TimelineSentBack:
		return s.say(key, isolate(s.person(e.By)))
	case verification.TimelineCompleted, verification.TimelineExpired, verification.TimelineCancelled:
		return s.say(key)
	case verification.TimelinePending, verification.TimelineCalledBack, verification.TimelinePollFailed,
		verification.TimelinePassed, verification.TimelineNotPassed, verification.TimelineNoResult,
		verification.TimelineUnavailable, verification.TimelineAwaited, verification.TimelineOpened,
		verification.TimelineSubmitted, verification.TimelineConsented, verification.TimelineDeclined,
		verification.TimelineOptedOut, verification.TimelineReview, verification.TimelineFailed:
	}
	return s.say(key, label)
}

// person returns the name of a reviewer, or words for a verdict of a program.
func (s session) person(name string) string {
	if name == "" {
		return s.say("verdict.program")
	}
	return name
}

func toneOf(k verification.TimelineKind) web.Tone {
	switch k { //nolint:exhaustive // the others are neutral
	case verification.TimelinePassed, verification.TimelineConsented, verification.TimelineApproved, verification.TimelineCompleted,
		verification.TimelineProposedApproval:
		return web.Good
	case verification.TimelineNotPassed, verification.TimelineFailed, verification.TimelineRejected, verification.TimelineExpired,
		verification.TimelineProposedRejection,
		verification.TimelineUnavailable, verification.TimelineCancelled:
		return web.Bad
	case verification.TimelineReview, verification.TimelineSentBack, verification.TimelineDeclined, verification.TimelineOptedOut,
		verification.TimelineHitsFound, verification.TimelineNoResult, verification.TimelinePollFailed:
		return web.Warning
	}
	return web.Neutral
}
