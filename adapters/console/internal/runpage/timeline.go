// The timeline of a run in the language of the reader.

package runpage

import (
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/rules"
)

// timelineLine is one line of the timeline.
type timelineLine struct {
	Tone   web.Tone
	At     shell.Instant
	Text   string
	Detail string // what a person or a program wrote; may be empty
	Notes  []string
	Depth  int // 1 for a member or an element, 2 for a member of an element
}

// branchView is where a branch led.
type branchView struct {
	At     shell.Instant
	Branch string
	To     string
	When   string // the condition that held; empty for else
	Values dataTable
}

// lineOf returns the line of an entry.
func lineOf(s shell.Session, rec desk.RunRecord, e desk.TimelineEntry) timelineLine {
	_, element, member := e.Node.Parts()
	l := timelineLine{At: s.At(e.At), Text: happened(s, e), Tone: toneOf(e.Kind), Detail: e.Text}
	if element > 0 {
		l.Depth++
	}
	if member != "" {
		l.Depth++
	}
	if len(e.Sentences) > 0 {
		l.Detail = s.Sentences(e.Sentences)
	}
	flagged := func(g rules.ReportGroup) bool {
		return g.NodeID == e.Node && g.Status == rules.GroupFlagged && g.DecidedAt.Equal(e.At)
	}
	if e.Kind == desk.TimelinePassed && len(e.Sentences) > 0 || e.Kind == desk.TimelineMet && slices.ContainsFunc(rec.Report.Groups, flagged) {
		l.Tone = web.Warning // it has a flag
	}
	if reason := reasonOf(s, rec.Definition, e.Reason); reason != "" {
		l.Notes = append(l.Notes, s.Say("timeline.reason", shell.Isolate(reason)))
	}
	l.Notes = append(l.Notes, askedFor(s, rec, e.Node, e.Reasons, e.Fields)...)
	if e.Visit > 0 {
		l.Notes = append(l.Notes, s.Say("timeline.visit", e.Visit))
	}
	if e.Count > 1 {
		l.Notes = append(l.Notes, s.Say("timeline.times", e.Count, s.At(e.Until).Text))
	}
	for _, cleared := range e.Cleared {
		l.Notes = append(l.Notes, clearedBy(s, cleared))
	}
	if !e.Next.IsZero() {
		l.Notes = append(l.Notes, s.Say("timeline.next", s.At(e.Next).Text))
	}
	return l
}

// happened returns the sentence of an entry.
func happened(s shell.Session, e desk.TimelineEntry) string {
	key, label := "timeline."+string(e.Kind), shell.Isolate(e.Label)
	switch e.Kind {
	case desk.TimelineStarted:
		return s.Say(key, shell.Isolate(e.Workflow), e.Version)
	case desk.TimelineDispatched:
		return s.Say(key, label, shell.Isolate(e.Provider))
	case desk.TimelineRetried:
		return s.Say(key, label, shell.Isolate(e.Provider), e.Number)
	case desk.TimelineUploaded, desk.TimelineHitsFound, desk.TimelineHitsOverruled:
		return s.Say(key, label, shell.Isolate(e.Field))
	case desk.TimelineMatches, desk.TimelineEach:
		return s.Count(key, e.Number, label)
	case desk.TimelineAskedAgain:
		if e.By == "" {
			return s.Say(key+"_by_workflow", label)
		}
		return s.Say(key, label, shell.Isolate(e.By))
	case desk.TimelineHitSame, desk.TimelineHitOther, desk.TimelineHitUnsure:
		return s.Say(key, label, shell.Isolate(personName(s, e.By)), shell.Isolate(entryName(s, e.Entry)))
	case desk.TimelineBranched, desk.TimelineElse:
		return s.Say(key, label, shell.Isolate(e.ToLabel))
	case desk.TimelineApproved, desk.TimelineRejected, desk.TimelineProposedApproval,
		desk.TimelineProposedRejection, desk.TimelineSentBack:
		return s.Say(key, shell.Isolate(personName(s, e.By)))
	case desk.TimelineNote, desk.TimelineUnassigned, desk.TimelineRedacted, desk.TimelineHeld, desk.TimelineHoldEnded,
		desk.TimelineRestricted, desk.TimelineRestrictionLifted:
		return s.Say(key, shell.Isolate(personName(s, e.By)))
	case desk.TimelineCorrected:
		return s.Say(key, shell.Isolate(personName(s, e.By)), shell.Isolate(strings.TrimPrefix(e.Label+": "+e.Field, ": ")))
	case desk.TimelineAssigned, desk.TimelineEscalated:
		return s.Say(key, shell.Isolate(personName(s, e.By)), shell.Isolate(e.Assignee))
	case desk.TimelineCompleted, desk.TimelineExpired, desk.TimelineCancelled, desk.TimelineDueSoon, desk.TimelineErased, desk.TimelineDocumentsRemoved,
		desk.TimelineRejectedBefore, desk.TimelineNotLookedUp:
		return s.Say(key)
	case desk.TimelinePending, desk.TimelineCalledBack, desk.TimelinePollFailed,
		desk.TimelinePassed, desk.TimelineNotPassed, desk.TimelineNoResult, desk.TimelineLedAway, desk.TimelineCameBack,
		desk.TimelineUnavailable, desk.TimelineAwaited, desk.TimelineOpened,
		desk.TimelineSubmitted, desk.TimelineConsented, desk.TimelineDeclined,
		desk.TimelineOptedOut, desk.TimelineSkipped, desk.TimelineKept, desk.TimelineDiffers, desk.TimelineAgrees, desk.TimelineGroup, desk.TimelineMet,
		desk.TimelineNotMet, desk.TimelineUnanswered, desk.TimelineCannotTell, desk.TimelineReview, desk.TimelineFailed, desk.TimelineHitsCleared:
	}
	return s.Say(key, label)
}

// personName returns the name of a reviewer, or words for a verdict of a program.
func personName(s shell.Session, name string) string {
	if name == "" {
		return s.Say("verdict.program")
	}
	return name
}

func toneOf(k desk.TimelineKind) web.Tone {
	switch k { //nolint:exhaustive // the others are neutral
	case desk.TimelinePassed, desk.TimelineMet, desk.TimelineConsented, desk.TimelineApproved, desk.TimelineCompleted,
		desk.TimelineProposedApproval:
		return web.Good
	case desk.TimelineNotPassed, desk.TimelineFailed, desk.TimelineRejected, desk.TimelineExpired,
		desk.TimelineProposedRejection,
		desk.TimelineUnavailable, desk.TimelineNotMet, desk.TimelineUnanswered, desk.TimelineCancelled, desk.TimelineHitSame:
		return web.Bad
	case desk.TimelineReview, desk.TimelineDiffers, desk.TimelineCannotTell, desk.TimelineAskedAgain, desk.TimelineSentBack, desk.TimelineDeclined, desk.TimelineOptedOut,
		desk.TimelineEscalated, desk.TimelineDueSoon, desk.TimelineNotLookedUp, desk.TimelineHitsFound, desk.TimelineHitsOverruled, desk.TimelineMatches, desk.TimelineNoResult, desk.TimelinePollFailed:
		return web.Warning
	}
	return web.Neutral
}
