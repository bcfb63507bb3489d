// The timeline of a run in the language of the reader.

package console

import (
	"github.com/verifyd/verifyd/internal/web"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/view"
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
	Badge    web.Badge
	By       string
	At       age
	Reason   string // of a rejection or a returned proposal; empty for none
	Confirms string // says whose proposal it confirms; empty for none
	Notes    string
}

// timelineLine returns the line of an entry.
func (s session) timelineLine(rec engine.RunRecord, e view.TimelineEntry) timelineLine {
	l := timelineLine{At: s.At(e.At), Text: s.happened(e), Tone: toneOf(e.Kind), Detail: e.Text}
	if len(e.Sentences) > 0 {
		l.Detail = s.sentences(e.Sentences)
	}
	if e.Kind == view.TimelinePassed && len(e.Sentences) > 0 { // but the visit has a flag
		l.Tone = web.Warning
	}
	if reason := s.reasonOf(rec.Definition, e.Reason); reason != "" {
		l.Notes = append(l.Notes, s.say("timeline.reason", isolate(reason)))
	}
	if e.Visit > 0 {
		l.Notes = append(l.Notes, s.say("timeline.visit", e.Visit))
	}
	if e.Count > 1 {
		l.Notes = append(l.Notes, s.say("timeline.times", e.Count, s.At(e.Until).Text))
	}
	for _, cleared := range e.Cleared {
		l.Notes = append(l.Notes, s.clearedBy(cleared))
	}
	if !e.Next.IsZero() {
		l.Notes = append(l.Notes, s.say("timeline.next", s.At(e.Next).Text))
	}
	return l
}

// happened returns the sentence of an entry.
func (s session) happened(e view.TimelineEntry) string {
	key, label := "timeline."+string(e.Kind), isolate(e.Label)
	switch e.Kind {
	case view.TimelineStarted:
		return s.say(key, isolate(e.Workflow), e.Version)
	case view.TimelineDispatched:
		return s.say(key, label, isolate(e.Provider))
	case view.TimelineRetried:
		return s.say(key, label, isolate(e.Provider), e.Number)
	case view.TimelineUploaded, view.TimelineHitsFound, view.TimelineHitsOverruled:
		return s.say(key, label, isolate(e.Field))
	case view.TimelineMatches:
		return s.count(key, e.Number, label)
	case view.TimelineHitSame, view.TimelineHitOther, view.TimelineHitUnsure:
		return s.say(key, label, isolate(s.person(e.By)), isolate(e.Entry))
	case view.TimelineBranched, view.TimelineElse:
		return s.say(key, label, isolate(e.ToLabel))
	case view.TimelineApproved, view.TimelineRejected, view.TimelineProposedApproval,
		view.TimelineProposedRejection, view.TimelineSentBack:
		return s.say(key, isolate(s.person(e.By)))
	case view.TimelineNote, view.TimelineUnassigned:
		return s.say(key, isolate(s.person(e.By)))
	case view.TimelineAssigned, view.TimelineEscalated:
		return s.say(key, isolate(s.person(e.By)), isolate(e.Assignee))
	case view.TimelineCompleted, view.TimelineExpired, view.TimelineCancelled, view.TimelineDueSoon:
		return s.say(key)
	case view.TimelinePending, view.TimelineCalledBack, view.TimelinePollFailed,
		view.TimelinePassed, view.TimelineNotPassed, view.TimelineNoResult,
		view.TimelineUnavailable, view.TimelineAwaited, view.TimelineOpened,
		view.TimelineSubmitted, view.TimelineConsented, view.TimelineDeclined,
		view.TimelineOptedOut, view.TimelineReview, view.TimelineFailed, view.TimelineHitsCleared:
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

func toneOf(k view.TimelineKind) web.Tone {
	switch k { //nolint:exhaustive // the others are neutral
	case view.TimelinePassed, view.TimelineConsented, view.TimelineApproved, view.TimelineCompleted,
		view.TimelineProposedApproval:
		return web.Good
	case view.TimelineNotPassed, view.TimelineFailed, view.TimelineRejected, view.TimelineExpired,
		view.TimelineProposedRejection,
		view.TimelineUnavailable, view.TimelineCancelled, view.TimelineHitSame:
		return web.Bad
	case view.TimelineReview, view.TimelineSentBack, view.TimelineDeclined, view.TimelineOptedOut,
		view.TimelineEscalated, view.TimelineDueSoon, view.TimelineHitsFound, view.TimelineHitsOverruled, view.TimelineMatches, view.TimelineNoResult, view.TimelinePollFailed:
		return web.Warning
	}
	return web.Neutral
}
