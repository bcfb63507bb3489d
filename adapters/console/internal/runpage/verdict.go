// Verdicts: claims, what a form asks for, and why it is refused; cancellation.

package runpage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// keptVerdict is what a refused post contained, and why it was refused.
type keptVerdict struct {
	Notes   string
	Reason  string // the code of a rejection
	Request string // identifies the post of a script that may repeat it; empty for none
	Seq     int    // of the run that the form showed; 0 for none
	Note    *web.Note
	Changed bool // the page says so if a person has changed the run since the form was shown
	// Decision is the value of the button; empty for none. Problems are those of the fields.
	Decision string
	Problems []fieldProblem

	Hit, HitMatch, HitReason, HitProblem string   // of a decision on a hit: see hitView.ID and severalID
	Hits                                 []string // that were selected
	Desk                                 keptDesk // of a form beside the verdict
	Personal                             keptPersonal
	Correction                           keptCorrection
	Again                                keptAgain

	Lacking string // why a report was not printed; empty for none
}

// fieldProblem says what is wrong with a field of the form of the verdict.
type fieldProblem struct {
	Field string // its id on the page
	Text  string
}

// The fields of the form of the verdict.
const (
	reasonField = "reason"
	notesField  = "notes"
	hitsField   = "hits" // stands for the first hit that must be decided
)

// The values of the button of the verdict form besides the decisions.
const (
	sendBack = "return"
	withdraw = "withdraw" // an own proposal
)

// noSeq stands for the missing Seq of a form. No history has this length, so the verdict
// is refused as if the run had changed.
const noSeq = -1

// GiveVerdict records a verdict and leads to the next run of the queue, or back to the
// run if a proposal was withdrawn. A verdict that is refused stays on the page.
func (p *Pages) GiveVerdict(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptVerdict{Notes: shell.NotesOf(r), Reason: r.PostForm.Get("reason"), Request: r.PostForm.Get("request"), Decision: r.PostForm.Get("decision")}
	if kept.Seq, err = strconv.Atoi(r.PostForm.Get("seq")); err != nil || kept.Seq < 1 {
		kept.Seq = noSeq
	}
	claim, err := p.claim(r.Context(), s, id, false)
	if err != nil {
		return err
	}
	message, err := p.decide(r.Context(), s, id, kept)
	switch {
	case err == nil && kept.Decision == withdraw: // to decide again
		return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query(), message, shell.Isolate(r.PostForm.Get("reference")))
	case err == nil && !shell.WantsPage(r): // the page has gone to the next run already
		return said(w, http.StatusOK, s.Say(message, shell.Isolate(r.PostForm.Get("reference"))))
	case err == nil:
		return p.next(w, r, s, id, message)
	case errors.Is(err, rules.ErrClaimed):
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say("verdict.taken", shell.Isolate(claim.Name))}
		return p.refuseVerdict(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrConflict), errors.Is(err, verification.ErrNotOpen),
		errors.Is(err, verification.ErrKeyReused), errors.Is(err, verification.ErrInFlight):
		kept.Changed = errors.Is(err, rules.ErrRunChanged)
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say(refusalOf(err))}
		return p.refuseVerdict(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrInvalid):
		kept.Problems = problemsOf(s, err)
		return p.refuseVerdict(w, r, s, http.StatusUnprocessableEntity, kept)
	}
	return err
}

// refuseVerdict shows the run again with what a refused verdict contained. A script gets the
// reason alone: it keeps the rest.
func (p *Pages) refuseVerdict(w http.ResponseWriter, r *http.Request, s shell.Session, status int, kept keptVerdict) error {
	if shell.WantsPage(r) {
		return p.showRun(w, r, s, status, kept)
	}
	var texts []string
	if kept.Note != nil {
		texts = append(texts, kept.Note.Text)
	}
	for _, problem := range kept.Problems {
		texts = append(texts, problem.Text)
	}
	return said(w, status, strings.Join(texts, " "))
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

// problemsOf says what is wrong with each field of a verdict.
func problemsOf(s shell.Session, err error) (all []fieldProblem) {
	switch {
	case errors.Is(err, rules.ErrNotesForListed):
		return []fieldProblem{{notesField, s.Say("verdict.problem.listed")}}
	case errors.Is(err, rules.ErrNotesForUnsure):
		return []fieldProblem{{notesField, s.Say("verdict.problem.unsure")}}
	case errors.Is(err, rules.ErrHitForSecond):
		return []fieldProblem{{hitsField, s.Say("verdict.problem.second")}}
	}
	if e, ok := errors.AsType[*verification.Error](err); ok {
		for _, field := range e.Fields {
			switch {
			case field.Name == "payload.reason" && field.Message == rules.ReasonOfRejection:
				all = append(all, fieldProblem{reasonField, s.Say("verdict.problem.rejection")})
			case field.Name == "payload.reason":
				all = append(all, fieldProblem{reasonField, s.Say("verdict.problem.reason")})
			case field.Name == "payload.notes" && field.Message == "is required":
				all = append(all, fieldProblem{notesField, s.Say("verdict.problem.notes")})
			}
		}
	}
	if all == nil {
		all = []fieldProblem{{notesField, s.Say("verdict.invalid", rules.MaxNotes)}}
	}
	return all
}

// decide gives, confirms or sends back a verdict. It returns the key of the message
// for the next page.
func (p *Pages) decide(ctx context.Context, s shell.Session, id verification.RunID, kept keptVerdict) (message string, err error) {
	if kept.Decision == sendBack || kept.Decision == withdraw {
		message = "done.returned"
		if kept.Decision == withdraw {
			message = "done.withdrawn"
		}
		return message, p.shell.Engine.ReturnProposal(ctx, s.Tenant, id, rules.ReturnProposal{
			Notes: kept.Notes, By: s.Name, Identity: s.Identity, Seq: kept.Seq,
		})
	}
	result, err := p.shell.Engine.GiveVerdict(ctx, s.Tenant, id, rules.GiveVerdict{
		Decision: rules.Decision(kept.Decision), Reason: kept.Reason, Justified: true, Notes: kept.Notes, By: s.Name, Identity: s.Identity, Seq: kept.Seq,
	}, kept.Request)
	switch result.Result {
	case engine.SignalVerdictProposed:
		return "done.proposed", err
	case engine.SignalProposalReturned:
		return "done.returned", err
	}
	return "done." + kept.Decision, err
}

// Claim claims a run, or takes it over from another person. A script that renews a
// claim gets no page, but a text that says when the claim ends.
func (p *Pages) Claim(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := p.shell.Engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	claim, err := p.claim(r.Context(), s, id, r.PostForm.Get("take_over") != "")
	switch {
	case err != nil:
		return err
	case r.PostForm.Get("notes") != "": // typed before, or of a verdict that was refused because of a claim
		seq, _ := strconv.Atoi(r.PostForm.Get("seq")) // none in the form that takes over
		return p.showRun(w, r, s, http.StatusOK, keptVerdict{Notes: shell.NotesOf(r), Seq: seq, Changed: true})
	case shell.WantsPage(r):
		return shell.Redirect(w, s.Base+"/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query())
	case !claim.IsOf(s.Person()):
		w.WriteHeader(http.StatusConflict)
		return nil
	}
	return said(w, http.StatusOK, s.Say("claim.until", s.At(claim.Until).Text))
}

// Release ends the claim of a run in the queue.
func (p *Pages) Release(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := p.shell.Engine.Run(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	if err := p.shell.Engine.ReleaseClaim(r.Context(), s.Tenant, id, s.Identity); err != nil {
		return err
	}
	return p.shell.Done(w, queue.FilterOf(r.URL.Query()).List(), "done.released", shell.Isolate(r.PostForm.Get("reference")))
}

// Cancel cancels a live run.
func (p *Pages) Cancel(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	if _, err := p.shell.Engine.Cancel(r.Context(), s.Tenant, id); err != nil {
		return err
	}
	return p.shell.Done(w, "/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query(), "done.cancelled", shell.Isolate(r.PostForm.Get("reference")))
}
