// The timeline of a run in the language of the reader.

package console

import (
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
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
func (s session) timelineLine(rec desk.RunRecord, e desk.TimelineEntry) timelineLine {
	l := timelineLine{At: s.At(e.At), Text: s.happened(e), Tone: toneOf(e.Kind), Detail: e.Text}
	if len(e.Sentences) > 0 {
		l.Detail = s.sentences(e.Sentences)
	}
	if e.Kind == desk.TimelinePassed && len(e.Sentences) > 0 { // but the visit has a flag
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
func (s session) happened(e desk.TimelineEntry) string {
	key, label := "timeline."+string(e.Kind), isolate(e.Label)
	switch e.Kind {
	case desk.TimelineStarted:
		return s.say(key, isolate(e.Workflow), e.Version)
	case desk.TimelineDispatched:
		return s.say(key, label, isolate(e.Provider))
	case desk.TimelineRetried:
		return s.say(key, label, isolate(e.Provider), e.Number)
	case desk.TimelineUploaded, desk.TimelineHitsFound, desk.TimelineHitsOverruled:
		return s.say(key, label, isolate(e.Field))
	case desk.TimelineMatches:
		return s.count(key, e.Number, label)
	case desk.TimelineHitSame, desk.TimelineHitOther, desk.TimelineHitUnsure:
		return s.say(key, label, isolate(s.person(e.By)), isolate(e.Entry))
	case desk.TimelineBranched, desk.TimelineElse:
		return s.say(key, label, isolate(e.ToLabel))
	case desk.TimelineApproved, desk.TimelineRejected, desk.TimelineProposedApproval,
		desk.TimelineProposedRejection, desk.TimelineSentBack:
		return s.say(key, isolate(s.person(e.By)))
	case desk.TimelineNote, desk.TimelineUnassigned:
		return s.say(key, isolate(s.person(e.By)))
	case desk.TimelineAssigned, desk.TimelineEscalated:
		return s.say(key, isolate(s.person(e.By)), isolate(e.Assignee))
	case desk.TimelineCompleted, desk.TimelineExpired, desk.TimelineCancelled, desk.TimelineDueSoon:
		return s.say(key)
	case desk.TimelinePending, desk.TimelineCalledBack, desk.TimelinePollFailed,
		desk.TimelinePassed, desk.TimelineNotPassed, desk.TimelineNoResult,
		desk.TimelineUnavailable, desk.TimelineAwaited, desk.TimelineOpened,
		desk.TimelineSubmitted, desk.TimelineConsented, desk.TimelineDeclined,
		desk.TimelineOptedOut, desk.TimelineReview, desk.TimelineFailed, desk.TimelineHitsCleared:
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

func toneOf(k desk.TimelineKind) web.Tone {
	switch k { //nolint:exhaustive // the others are neutral
	case desk.TimelinePassed, desk.TimelineConsented, desk.TimelineApproved, desk.TimelineCompleted,
		desk.TimelineProposedApproval:
		return web.Good
	case desk.TimelineNotPassed, desk.TimelineFailed, desk.TimelineRejected, desk.TimelineExpired,
		desk.TimelineProposedRejection,
		desk.TimelineUnavailable, desk.TimelineCancelled, desk.TimelineHitSame:
		return web.Bad
	case desk.TimelineReview, desk.TimelineSentBack, desk.TimelineDeclined, desk.TimelineOptedOut,
		desk.TimelineEscalated, desk.TimelineDueSoon, desk.TimelineHitsFound, desk.TimelineHitsOverruled, desk.TimelineMatches, desk.TimelineNoResult, desk.TimelinePollFailed:
		return web.Warning
	}
	return web.Neutral
}
