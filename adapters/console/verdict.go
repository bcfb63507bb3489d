// Verdicts: the form on the run page, claims, and the way to the next run.

package console

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// verdictPanel is the part of the run page about the verdict.
type verdictPanel struct {
	Action  string // the URL of the form; with the query of the queue
	Next    string // the URL that leads to the next run; empty for a run that needs no verdict
	Hold    *holdView
	Claims  string // the URL that claims the run
	Release string // the URL that releases it
	Cancel  string // the URL that cancels the run; empty if it is over
	Note    *web.Note
	Changes []timelineLine // what happened while the form was open
	Problem string         // of the notes

	Concerns []concernView
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

	Listed    string   // says who decided that the person or company is on a list; empty if nobody did
	Untold    string   // says that a verdict on this run, which is over, is sent to nobody; empty if that is not so
	HitsLeft  [2]int   // the hits that nobody has decided, of how many; zero if all are decided
	Reasons   []choice // of a rejection; none if the workflow names none
	NotesRule string   // says when notes are required
	NotesFor  workflow.NotesRule
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

// holdView returns what a script says of a verdict on the run.
func (s session) holdView(rec desk.RunRecord) *holdView {
	key, reference := "held.", isolate(rec.Report.Run.ReferenceID)
	if rec.FourEyes && rec.Report.Proposal.Decision == rules.DecisionNone {
		key = "held.propose."
	}
	return &holdView{
		Milliseconds: undoTime.Milliseconds(),
		Approve:      s.say(key+"approve", reference), Reject: s.say(key+"reject", reference), Return: s.say("held.return", reference),
		ApproveUndone: s.say("held.undone.approve", reference), RejectUndone: s.say("held.undone.reject", reference),
		ReturnUndone: s.say("held.undone.return", reference),
	}
}

// keptVerdict is what a refused post contained, and why it was refused.
type keptVerdict struct {
	Notes   string
	Reason  string // the code of a rejection
	Request string // identifies the post of a script that may repeat it; empty for none
	Seq     int    // of the run that the form showed; 0 for none
	Note    *web.Note
	Changed bool // the page says so if a person has changed the run since the form was shown
	Problem string

	Hit, HitReason, HitProblem string   // of a decision on a hit: see hitView.ID
	Desk                       keptDesk // of a form beside the verdict

	Lacking string // why a report was not printed; empty for none
}

// verdictPanel returns the panel of a run.
func (c *console) verdictPanel(s session, rec desk.RunRecord, f queueFilter, claim rules.Claim, kept keptVerdict) verdictPanel {
	at := s.Base + "/runs/" + string(rec.Report.Run.ID)
	entries := rec.Timeline
	over := rec.Report.Run.Status.Terminal()
	parked := rec.Action != nil && rec.Action.Type == rules.ActionReview
	p := verdictPanel{
		Action: at + "/verdict" + f.Query(), Claims: at + "/claim" + f.Query(), Release: at + "/release" + f.Query(), Needed: rec.Review != nil,
		Verdicts: s.verdictsOf(rec, entries), Note: kept.Note, Notes: kept.Notes, Problem: kept.Problem,
		Seq: rec.Seq, MaxNotes: rules.MaxNotes, FourEyes: rec.FourEyes,
	}
	p.NotesFor = rec.Definition.Notes
	p.Reasons, p.NotesRule = s.reasons(rec.Definition, kept.Reason), s.say("verdict.notes."+string(cmp.Or(rec.Definition.Notes, workflow.NotesOptional)))
	if !over && s.May(verification.RoleReviewer) {
		p.Cancel = at + "/cancel" + f.Query()
	}
	if rec.Review != nil {
		p.Position = store.PositionOf(rec.Report.Run.ID, *rec.Review).String()
		p.Next, p.Hold = s.nextURL(rec.Report.Run.ID, p.Position, f), s.holdView(rec)
	}
	for _, concern := range rec.Report.Concerns {
		p.Concerns = append(p.Concerns, s.concernView(concern))
	}
	if p.Listed = s.listed(rec); p.Listed != "" {
		p.NotesRule = s.say("verdict.notes." + string(workflow.NotesRequired))
		if cmp.Or(p.NotesFor, workflow.NotesOptional) == workflow.NotesOptional {
			p.NotesRule = s.say("verdict.notes.listed")
		}
	}
	if over && !slices.Contains(rec.Definition.Notify, workflow.NoticeReviewed) {
		p.Untold = s.say("verdict.untold")
	}
	if !claim.HeldAt(rec.At) {
		claim = rules.Claim{}
	}
	stands := rules.StandingOf(s.Person(), rec.Report.Proposal.Decision, rec.Report.Proposal.Person(), claim)
	p.Proposed, p.Own, p.Doubt = rec.Report.Proposal.Decision, stands.Own, stands.Doubt
	p.MayApprove = !p.Doubt && p.Proposed != rules.DecisionReject
	if claim.By != "" {
		p.Holder, p.Mine = claim.Name, !stands.Claimed
		p.Held = s.say("claim.until", s.At(claim.Until).Text)
	} else if rec.Review != nil && s.May(verification.RoleReviewer) && !stands.Own {
		p.Free, p.Held = true, s.say("claim.until", s.At(rec.At.Add(rules.ClaimTTL)).Text)
	}
	p.Form = s.May(verification.RoleReviewer) && (over || parked) && !stands.Claimed
	switch {
	case !s.May(verification.RoleReviewer):
		p.Why = s.say("verdict.viewer")
	case !over && !parked:
		p.Why = s.say("verdict.live")
	}
	if proposal := rec.Report.Proposal; proposal.Decision.Verdict() {
		p.Proposal = &verdictView{
			Badge: web.Badge{Tone: s.decisionBadge(proposal.Decision).Tone, Text: s.say("verdict.proposed." + string(proposal.Decision))}, By: s.person(proposal.By), At: s.ago(proposal.At, rec.At),
			Reason: s.reasonOf(rec.Definition, proposal.Reason), Notes: proposal.Notes,
		}
		if proposal.Decision == rules.DecisionReject && p.Proposal.Reason == "" && proposal.Notes == "" {
			p.Proposal.Reason = s.say("verdict.noreason")
		}
		if strings.TrimSpace(proposal.Notes) != "" { // a confirmation keeps them
			p.NotesFor, p.NotesRule = workflow.NotesOptional, s.say("verdict.notes."+string(workflow.NotesOptional))
		}
	}
	if kept.Seq > 0 && kept.Seq < len(rec.History) {
		since := rec.History[kept.Seq].At
		for _, e := range entries {
			if decisive(e.Kind) && !e.Until.Before(since) {
				p.Changes = append(p.Changes, s.timelineLine(rec, e))
				if kept.Changed {
					p.Note = &web.Note{Tone: web.Warning, Text: s.say("verdict.changed." + changeOf(e.Kind))}
				}
			}
		}
	}
	return p
}

// listed says who decided that the person or company of a run is on a list; empty if nobody
// did. An approval then needs notes: see rules.ErrNotesForListed.
func (s session) listed(rec desk.RunRecord) string {
	for _, card := range rec.Report.Cards {
		found := card.Hits()
		for _, visit := range card.Visits {
			found = append(found, visit.Hits()...)
		}
		for _, h := range found {
			if d := h.Decision; d.Match != rules.MatchSame {
				continue
			} else if (verification.Person{Identity: d.Identity, Name: d.By}).Is(s.Person()) {
				return s.say("verdict.listed.you", isolate(h.Name))
			} else {
				return s.say("verdict.listed", isolate(s.person(d.By)), isolate(h.Name))
			}
		}
	}
	return ""
}

// reasonOf returns the reason of a rejection by its code, in the language of the reader: the
// code itself if the workflow does not know it, and empty for none.
func (s session) reasonOf(d workflow.Definition, code string) string {
	reason, _ := d.RejectReason(code)
	return cmp.Or(reason.In(s.Lang()).Label, code)
}

// reasons returns the reasons for a rejection, in the language of the reader.
func (s session) reasons(d workflow.Definition, chosen string) (all []choice) {
	for _, r := range d.RejectReasons {
		all = append(all, choice{Value: r.Code, Text: r.In(s.Lang()).Label, Chosen: r.Code == chosen})
	}
	return all
}

// decisive reports whether a line of the timeline is a verdict, a change of a proposal,
// or the cancellation or expiry of the run.
func decisive(k desk.TimelineKind) bool {
	return slices.Contains([]desk.TimelineKind{
		desk.TimelineApproved, desk.TimelineRejected, desk.TimelineCancelled, desk.TimelineExpired,
		desk.TimelineProposedApproval, desk.TimelineProposedRejection, desk.TimelineSentBack,
	}, k)
}

// changeOf returns the end of the key of the message for a decisive change.
func changeOf(k desk.TimelineKind) string {
	if k == desk.TimelineCancelled || k == desk.TimelineExpired {
		return "over"
	}
	return "decided"
}

// The values of the button of the verdict form besides the decisions.
const (
	sendBack = "return"
	withdraw = "withdraw" // an own proposal
)

// noSeq stands for the missing Seq of a form. No history has this length, so the verdict
// is refused as if the run had changed.
const noSeq = -1

// giveVerdict records a verdict and leads to the next run of the queue, or back to the
// run if a proposal was withdrawn. A verdict that is refused stays on the page.
func (c *console) giveVerdict(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptVerdict{Notes: notesOf(r), Reason: r.PostForm.Get("reason"), Request: r.PostForm.Get("request")}
	if kept.Seq, err = strconv.Atoi(r.PostForm.Get("seq")); err != nil || kept.Seq < 1 {
		kept.Seq = noSeq
	}
	claim, err := c.claim(r.Context(), s, id, false)
	if err != nil {
		return err
	}
	decision := r.PostForm.Get("decision")
	message, err := c.decide(r.Context(), s, id, decision, kept)
	switch {
	case err == nil && decision == withdraw: // to decide again
		return c.done(w, "/runs/"+string(id)+queueFilterOf(r.URL.Query()).Query(), message, isolate(r.PostForm.Get("reference")))
	case err == nil && !wantsPage(r): // the page has gone to the next run already
		return said(w, http.StatusOK, s.say(message, isolate(r.PostForm.Get("reference"))))
	case err == nil:
		return c.next(w, r, s, id, message)
	case errors.Is(err, rules.ErrClaimed):
		kept.Note = &web.Note{Tone: web.Warning, Text: s.say("verdict.taken", isolate(claim.Name))}
		return c.refuseVerdict(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrConflict), errors.Is(err, verification.ErrNotOpen),
		errors.Is(err, verification.ErrKeyReused), errors.Is(err, verification.ErrInFlight):
		kept.Changed = errors.Is(err, rules.ErrRunChanged)
		kept.Note = &web.Note{Tone: web.Warning, Text: s.say(refusalOf(err))}
		return c.refuseVerdict(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrInvalid):
		kept.Problem = s.problemOf(err)
		return c.refuseVerdict(w, r, s, http.StatusUnprocessableEntity, kept)
	}
	return err
}

// refuseVerdict shows the run again with what a refused verdict contained. A script gets the
// reason alone: it keeps the rest.
func (c *console) refuseVerdict(w http.ResponseWriter, r *http.Request, s session, status int, kept keptVerdict) error {
	if wantsPage(r) {
		return c.showRun(w, r, s, status, kept)
	}
	text := kept.Problem
	if kept.Note != nil {
		text = kept.Note.Text
	}
	return said(w, status, text)
}

// said writes a text for a script.
func said(w http.ResponseWriter, status int, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the reader may have gone away
	return nil
}

// refusalOf returns the key of the message for a verdict that the state of the run forbids.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, rules.ErrOwnProposal):
		return "verdict.refused.own"
	case errors.Is(err, rules.ErrMayBeProposer):
		return "verdict.refused.doubt"
	case errors.Is(err, rules.ErrNoProposal):
		return "verdict.refused.noproposal"
	case errors.Is(err, verification.ErrNotOpen):
		return "verdict.refused.notopen"
	case errors.Is(err, rules.ErrFull):
		return "verdict.refused.full"
	case errors.Is(err, verification.ErrKeyReused):
		return "verdict.refused.reused"
	case errors.Is(err, verification.ErrInFlight):
		return "verdict.refused.inflight"
	}
	return "verdict.changed"
}

// problemOf says what is wrong with a verdict.
func (s session) problemOf(err error) string {
	if errors.Is(err, rules.ErrNotesForListed) {
		return s.say("verdict.problem.listed")
	}
	if e, ok := errors.AsType[*verification.Error](err); ok {
		for _, field := range e.Fields {
			switch {
			case field.Name == "payload.reason":
				return s.say("verdict.problem.reason")
			case field.Name == "payload.notes" && field.Message == "is required":
				return s.say("verdict.problem.notes")
			}
		}
	}
	return s.say("verdict.invalid", rules.MaxNotes)
}

// notesOf returns the notes of a form, with the line breaks that a person typed.
func notesOf(r *http.Request) string {
	return strings.ReplaceAll(r.PostForm.Get("notes"), "\r\n", "\n")
}

// decide gives, confirms or sends back a verdict. It returns the key of the message
// for the next page.
func (c *console) decide(ctx context.Context, s session, id verification.RunID, decision string, kept keptVerdict) (message string, err error) {
	if decision == sendBack || decision == withdraw {
		message = "done.returned"
		if decision == withdraw {
			message = "done.withdrawn"
		}
		return message, c.engine.ReturnProposal(ctx, s.Tenant, id, rules.ReturnProposal{
			Notes: kept.Notes, By: s.Name, Identity: s.Identity, Seq: kept.Seq,
		})
	}
	reason := kept.Reason
	if decision != string(rules.DecisionReject) {
		reason = ""
	}
	result, err := c.engine.GiveVerdict(ctx, s.Tenant, id, rules.GiveVerdict{
		Decision: rules.Decision(decision), Reason: reason, Justified: true, Notes: kept.Notes, By: s.Name, Identity: s.Identity, Seq: kept.Seq,
	}, kept.Request)
	switch result.Result {
	case engine.SignalVerdictProposed:
		return "done.proposed", err
	case engine.SignalProposalReturned:
		return "done.returned", err
	}
	return "done." + decision, err
}

// claimRun claims a run, or takes it over from another person. A script that renews a
// claim gets no page, but a text that says when the claim ends.
func (c *console) claimRun(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := c.engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	claim, err := c.claim(r.Context(), s, id, r.PostForm.Get("take_over") != "")
	switch {
	case err != nil:
		return err
	case r.PostForm.Get("notes") != "": // typed before, or of a verdict that was refused because of a claim
		seq, _ := strconv.Atoi(r.PostForm.Get("seq")) // none in the form that takes over
		return c.showRun(w, r, s, http.StatusOK, keptVerdict{Notes: notesOf(r), Seq: seq, Changed: true})
	case wantsPage(r):
		return c.redirect(w, s.Base+"/runs/"+string(id)+queueFilterOf(r.URL.Query()).Query())
	case !claim.IsOf(s.Person()):
		w.WriteHeader(http.StatusConflict)
		return nil
	}
	return said(w, http.StatusOK, s.say("claim.until", s.At(claim.Until).Text))
}

// releaseRun ends the claim of a run in the queue.
func (c *console) releaseRun(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := c.engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	if err := c.engine.ReleaseClaim(r.Context(), s.Tenant, id, s.Identity); err != nil {
		return err
	}
	return c.done(w, queueFilterOf(r.URL.Query()).list(), "done.released", isolate(r.PostForm.Get("reference")))
}

// cancelRun cancels a live run.
func (c *console) cancelRun(w http.ResponseWriter, r *http.Request, s session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := c.engine.Cancel(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	return c.done(w, "/runs/"+string(id)+queueFilterOf(r.URL.Query()).Query(), "done.cancelled", isolate(r.PostForm.Get("reference")))
}
