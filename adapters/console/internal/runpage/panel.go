// The part of the run page about the verdict.

package runpage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// verdictPanel is the part of the run page about the verdict.
type verdictPanel struct {
	Action   string // the URL of the form; with the query of the queue
	Next     string // the URL that leads to the next run; empty for a run that needs no verdict
	Hold     *holdView
	Claims   string // the URL that claims the run
	Release  string // the URL that releases it
	Cancel   string // the URL that cancels the run; empty if it is over
	Note     *web.Note
	Changes  []timelineLine // what happened while the form was open
	Begun    string         // the verdict that was refused: its button comes first; empty for none
	Focus    string         // the field that has the focus; empty for none
	Problems []fieldProblem

	Concerns []queue.Concern
	Needed   bool // the run needs a verdict
	Form     bool // the person may decide now
	Holder   string
	Mine     bool
	Free     bool   // the person may claim the run, which nobody has claimed
	ClaimNow bool   // a script claims it, because the page was opened from another page of the console
	Held     string // says until when the person has the claim, or would have it
	Verdicts []verdictView
	Why      string // says why there is no form; may be empty

	Proposal *verdictView // a verdict that another person must confirm
	Proposed rules.Decision
	Own      bool // the person has proposed it
	Doubt    bool // the person may have proposed it, under another identity
	FourEyes bool
	// MayApprove says that the person may approve, or confirm an approval.
	MayApprove bool

	Seq      int
	Position string // in the queue
	Notes    string
	MaxNotes int

	Listed    string         // says who decided that the person or company is on a list; empty if nobody did
	Unsettled string         // says how many hits are not decided, for which an approval needs notes; empty for none
	Untold    string         // says that a verdict on this run, which is over, is sent to nobody; empty if that is not so
	HitsLeft  [2]int         // the hits that nobody has decided, of how many; zero if all are decided
	Reasons   []shell.Choice // of a rejection; none if the workflow names none
	NotesRule string         // says when notes are required
	NewData   string         // says that notes on a redacted run are new personal data; empty on any other run
	NotesFor  workflow.NotesRule
	ToApprove bool // an approval needs notes, whatever NotesFor says

	Again againForm
}

// notesToApprove says that an approval needs notes, unless those of the proposal are kept.
func (p *verdictPanel) notesToApprove(s shell.Session) {
	if p.Proposal != nil && strings.TrimSpace(p.Proposal.Notes) != "" {
		return
	}
	p.ToApprove = true
	switch {
	case cmp.Or(p.NotesFor, workflow.NotesOptional) == workflow.NotesOptional:
		p.NotesRule = s.Say("verdict.notes.listed")
	default:
		p.NotesRule = s.Say("verdict.notes." + string(workflow.NotesRequired))
	}
}

// ProblemOf says what is wrong with a field; empty if nothing is.
func (p verdictPanel) ProblemOf(field string) string {
	for _, problem := range p.Problems {
		if problem.Field == field {
			return problem.Text
		}
	}
	return ""
}

// undoTime is how long a script holds a verdict back, so that the person can undo it.
const undoTime = 8 * time.Second

// holdView says how a script holds a verdict back, and what it says meanwhile.
type holdView struct {
	Milliseconds            int64
	Approve, Reject, Return string
	// What it says after an undo.
	ApproveUndone, RejectUndone, ReturnUndone string
}

// holdOf returns what a script says of a verdict on the run.
func holdOf(s shell.Session, rec desk.RunRecord) *holdView {
	key, reference := "held.", shell.Isolate(s.Reference(rec.Report.Run.ReferenceID, rec.Report.Run.RestrictedAt))
	if rec.FourEyes && rec.Report.Proposal.Decision == rules.DecisionNone {
		key = "held.propose."
	}
	return &holdView{
		Milliseconds: undoTime.Milliseconds(),
		Approve:      s.Say(key+"approve", reference), Reject: s.Say(key+"reject", reference), Return: s.Say("held.return", reference),
		ApproveUndone: s.Say("held.undone.approve", reference), RejectUndone: s.Say("held.undone.reject", reference),
		ReturnUndone: s.Say("held.undone.return", reference),
	}
}

// panelOf returns the panel of a run.
func panelOf(s shell.Session, rec desk.RunRecord, timeline []timelineLine, f queue.Filter, claim rules.Claim, kept keptVerdict) verdictPanel {
	at := s.Base + "/runs/" + string(rec.Report.Run.ID)
	over := rec.Report.Run.Status.Terminal()
	parked := rec.Action != nil && rec.Action.Type == rules.ActionReview
	p := verdictPanel{
		Action: at + "/verdict" + f.Query(), Claims: at + "/claim" + f.Query(), Release: at + "/release" + f.Query(), Needed: rec.Review != nil,
		Verdicts: verdictsOf(s, rec), Note: kept.Note, Notes: kept.Notes, Begun: kept.Decision, Problems: kept.Problems,
		Seq: rec.Seq, MaxNotes: rules.MaxNotes, FourEyes: rec.FourEyes,
	}
	switch {
	case len(p.Problems) > 0:
		p.Focus = p.Problems[0].Field
	case p.Note == nil && p.Notes != "": // typed when the run was claimed
		p.Focus = notesField
	}
	p.NotesFor = rec.Definition.Notes
	p.Reasons, p.NotesRule = reasonsOf(s, rec.Definition, kept.Reason), s.Say("verdict.notes."+string(cmp.Or(rec.Definition.Notes, workflow.NotesOptional)))
	if !over && s.May(verification.RoleReviewer) {
		p.Cancel = at + "/cancel" + f.Query()
	}
	if rec.Review != nil {
		p.Position = store.PositionOf(rec.Report.Run.ID, *rec.Review).String()
		p.Next, p.Hold = nextURL(s, rec.Report.Run.ID, p.Position, f), holdOf(s, rec)
	}
	for _, concern := range rec.Report.Concerns {
		p.Concerns = append(p.Concerns, queue.ConcernOf(s, concern))
	}
	p.Listed = listed(s, rec)
	if !rec.Report.Run.RedactedAt.IsZero() {
		p.NewData = s.Say("verdict.redacted")
	}
	if over && !slices.Contains(rec.Definition.Notify, workflow.NoticeReviewed) {
		p.Untold = s.Say("verdict.untold")
	}
	if !claim.HeldAt(rec.At) {
		claim = rules.Claim{}
	}
	stands := rules.StandingOf(s.Person(), rec.Report.Proposal.Decision, rec.Report.Proposal.Person(), claim)
	p.Proposed, p.Own, p.Doubt = rec.Report.Proposal.Decision, stands.Own, stands.Doubt
	p.MayApprove = !p.Doubt && p.Proposed != rules.DecisionReject
	if claim.By != "" {
		p.Holder, p.Mine = claim.Name, !stands.Claimed
		p.Held = s.Say("claim.until", s.At(claim.Until).Text)
	} else if rec.Review != nil && s.May(verification.RoleReviewer) && !stands.Own {
		p.Free, p.Held = true, s.Say("claim.until", s.At(rec.At.Add(rules.ClaimTTL)).Text)
	}
	p.Form = s.May(verification.RoleReviewer) && (over || parked) && !stands.Claimed
	p.Again = p.againForm(s, rec, f, kept.Again)
	switch {
	case !s.May(verification.RoleReviewer):
		p.Why = s.Say("verdict.viewer")
	case !over && !parked:
		p.Why = s.Say("verdict.live")
	}
	if proposal := rec.Report.Proposal; proposal.Decision.Verdict() {
		p.Proposal = &verdictView{
			Badge: web.Badge{Tone: s.DecisionBadge(proposal.Decision).Tone, Text: s.Say("verdict.proposed." + string(proposal.Decision))}, By: personName(s, proposal.By), At: s.Ago(proposal.At, rec.At),
			Reason: reasonOf(s, rec.Definition, proposal.Reason), Notes: proposal.Notes,
		}
		if proposal.Decision == rules.DecisionReject && p.Proposal.Reason == "" && proposal.Notes == "" {
			p.Proposal.Reason = s.Say("verdict.noreason")
		}
		if strings.TrimSpace(proposal.Notes) != "" { // a confirmation keeps them
			p.NotesFor, p.NotesRule = workflow.NotesOptional, s.Say("verdict.notes."+string(workflow.NotesOptional))
		}
	}
	if p.Listed != "" {
		p.notesToApprove(s)
	}
	if kept.Seq > 0 && kept.Seq < len(rec.History) {
		since := rec.History[kept.Seq].At
		for _, l := range timeline {
			if change := changeOf(l.event.Fact); change != "" && !l.event.At.Before(since) {
				p.Changes = append(p.Changes, l)
				if kept.Changed {
					p.Note = &web.Note{Tone: web.Warning, Text: s.Say("verdict.changed." + change)}
				}
			}
		}
	}
	return p
}

// listed says who decided that the person or company of a run is on a list; empty if nobody
// did. An approval then needs notes: see rules.ErrNotesForListed.
func listed(s shell.Session, rec desk.RunRecord) string {
	for _, card := range rec.Report.Cards {
		found := card.Hits()
		for _, visit := range card.Visits {
			found = append(found, visit.Hits()...)
		}
		for _, h := range found {
			if d := h.Decision; d.Match != rules.MatchSame {
				continue
			} else if (verification.Person{Identity: d.Identity, Name: d.By}).Is(s.Person()) {
				return s.Say("verdict.listed.you", shell.Isolate(entryName(s, h.Name)))
			} else {
				return s.Say("verdict.listed", shell.Isolate(personName(s, d.By)), shell.Isolate(entryName(s, h.Name)))
			}
		}
	}
	return ""
}

// reasonOf returns the reason of a rejection by its code, in the language of the reader: the
// code itself if the workflow does not know it, and empty for none.
func reasonOf(s shell.Session, d workflow.Definition, code string) string {
	reason, _ := d.RejectReason(code)
	return cmp.Or(reason.In(s.Lang()).Label, code)
}

// reasonsOf returns the reasons for a rejection, in the language of the reader.
func reasonsOf(s shell.Session, d workflow.Definition, chosen string) (all []shell.Choice) {
	for _, r := range d.RejectReasons {
		all = append(all, shell.Choice{Value: r.Code, Text: r.In(s.Lang()).Label, Chosen: r.Code == chosen})
	}
	return all
}

// changeOf returns the end of the key of the message about a fact that came while the form was open: a verdict, a change of a
// proposal, or the cancellation or expiry of the run. It is empty for any other fact.
func changeOf(f rules.Fact) string {
	switch f.(type) { //nolint:gochecksumtype // no other fact takes the verdict away from the person
	case rules.VerdictRecorded, rules.VerdictProposed, rules.ProposalReturned:
		return "decided"
	case rules.Cancelled, rules.Expired:
		return "over"
	}
	return ""
}

// verdictView is one verdict, proposed or given.
type verdictView struct {
	Badge    web.Badge
	By       string
	At       shell.Age
	Reason   string // of a rejection or a returned proposal; empty for none
	Confirms string // says whose proposal it confirms; empty for none
	Notes    string
}

// verdictsOf returns the verdicts of a history, newest first.
func verdictsOf(s shell.Session, rec desk.RunRecord) (all []verdictView) {
	proposer := ""
	add := func(b web.Badge, e rules.Event, by, reason, notes string) *verdictView {
		all, proposer = append(all, verdictView{
			Badge: b, By: personName(s, by), At: s.Ago(e.At, rec.At), Reason: reasonOf(s, rec.Definition, reason), Notes: notes,
		}), ""
		return &all[len(all)-1]
	}
	for _, e := range rec.History {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // the others are no verdicts
		case rules.VerdictProposed:
			proposer = personName(s, f.By)
		case rules.VerdictRecorded:
			confirms := ""
			if rec.FourEyes && proposer != "" {
				confirms = s.Say("verdict.confirms", shell.Isolate(proposer))
			}
			v := add(s.DecisionBadge(f.Decision), e, f.By, f.Reason, f.Notes)
			v.Confirms = confirms
			if f.Decision == rules.DecisionReject && v.Reason == "" && v.Notes == "" {
				v.Reason = s.Say("verdict.noreason")
			}
		case rules.ProposalReturned:
			add(web.Badge{Text: s.Say("decision.returned")}, e, f.By, f.Reason, f.Notes)
		}
	}
	slices.Reverse(all)
	return all
}
