// Verdicts: of one reviewer, or proposed by one and confirmed by another.

package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// MaxNotes is the maximum length of the notes of a verdict, in characters.
const MaxNotes = 10000

// ValidateNotes returns verification.ErrInvalid unless the notes of a verdict have at most 10,000
// characters and are valid UTF-8 without NUL.
func ValidateNotes(s string) error {
	if problem := notesProblem(s); problem != "" {
		return verification.InvalidField("signal", "payload.notes", problem)
	}
	return nil
}

// notesProblem says what is wrong with a text of a reviewer; empty if nothing is.
func notesProblem(s string) string {
	switch {
	case utf8.RuneCountInString(s) > MaxNotes:
		return texts.TooLong(MaxNotes)
	case !texts.Storable(s):
		return "must be valid UTF-8 without a NUL character"
	}
	return ""
}

// The conflicts of a verdict. Each is an verification.ErrConflict.
var (
	// ErrRunChanged is returned if the run has changed since the Seq that the reviewer saw.
	ErrRunChanged error = verification.ConflictFor("run_changed", "run", "the run has changed since the reviewer saw it")
	// ErrClaimed is returned to a reviewer while another person has claimed the run.
	ErrClaimed error = verification.ConflictFor("run_claimed", "review",
		"another reviewer has claimed the run; wait until they release it or their claim ends, or take it over in the console")
	// ErrNoPerson is returned when an API client gives a verdict that needs two reviewers, or asks the customer again instead.
	ErrNoPerson error = verification.ConflictFor("no_person", "run", "the verdict needs two reviewers; each of them must send the access token of a person")
	// ErrOwnProposal is returned to the reviewer who has proposed a verdict.
	ErrOwnProposal error = verification.ConflictFor("own_proposal", "run", "you have proposed a verdict; another reviewer must confirm it or send it back")
	// ErrMayBeProposer is returned for a confirmation by a reviewer who may be the one who
	// has proposed the verdict, see Person.MayBe.
	ErrMayBeProposer error = verification.ConflictFor("may_be_proposer", "run", "you and the reviewer who proposed the verdict may be one person, since you have the same name "+
		"or used different ways to sign in; send it back, or let another reviewer confirm it")
	// ErrNoProposal is returned if there is no proposal to send back.
	ErrNoProposal error = verification.Conflict("run", "no verdict is proposed")
)

// ReasonOfRejection says that the reason of a verdict, the code of a reject reason, is for
// rejections: an approval with a reason is refused.
const ReasonOfRejection = "is only for a rejection"

// ErrNotesForListed is returned to a reviewer who approves without notes a person or company
// that a reviewer has found on a list. It is an verification.ErrInvalid.
var ErrNotesForListed error = verification.InvalidField("signal", "payload.notes",
	"is required, because a reviewer decided that the person or company is on the list")

func (d *decision) verdict(c GiveVerdict) error {
	if _, delivered := d.run.Receipt(c.Request); delivered {
		return nil
	}
	if !c.Decision.Verdict() {
		return verification.InvalidField("signal", "payload.decision", `must be "approve" or "reject"`)
	}
	if err := ValidateNotes(c.Notes); err != nil {
		return err
	}
	if err := d.checkReason(c); err != nil {
		return err
	}
	if err := d.checkClaim(c.Claim, verification.Person{Identity: clean(c.Identity), Name: clean(c.By)}); err != nil {
		return err
	}
	if err := d.checkSeq(c.Seq); err != nil {
		return err
	}
	w, live := d.run.Wait(), d.live()
	if live && w.Kind != WaitReview {
		return notOpen(workflow.ReviewSignal)
	}
	if d.run.verdicts >= maxVerdicts {
		return full("the run has %d verdicts, and takes no more", maxVerdicts)
	}
	given := VerdictRecorded{
		Node: w.Node, Decision: c.Decision, Reason: c.Reason, Notes: c.Notes,
		By: clean(c.By), Identity: clean(c.Identity), Request: c.Request,
	}
	if p := d.run.Proposal; d.run.FourEyes() && p.Decision == given.Decision {
		given.Reason, given.Notes = cmp.Or(given.Reason, p.Reason), cmp.Or(given.Notes, p.Notes)
	}
	if c.Justified {
		if err := d.checkJustified(given); err != nil {
			return err
		}
	}
	if d.run.FourEyes() {
		confirmed, err := d.confirm(given)
		if err != nil || confirmed == nil {
			return err
		}
		given = *confirmed
		if c.Justified && given.Decision == DecisionApprove {
			if err := d.checkSecond(); err != nil {
				return err
			}
		}
	}
	d.add(given)
	if live {
		n, _ := d.program.Node(w.Node)
		to := n.Next
		if c.Decision == DecisionReject && n.OnReject != "" {
			to = n.OnReject
		}
		goesTo(d, to)
	}
	return nil
}

// FourEyes reports whether a verdict needs two reviewers: every one on the run, or that of the review step that it waits at. After the
// end of the run it is any review step of the run, so that one person does not replace the verdict of two.
func (r Run) FourEyes() bool {
	return r.Started.FourEyes || slices.ContainsFunc(r.Steps, func(s Step) bool { return s.fourEyes && (r.Ended != "" || r.Wait().Node == s.Node) })
}

// checkReason returns verification.ErrInvalid unless the reason of a verdict is empty or, for a
// rejection, the code of a reject reason of the workflow.
func (d *decision) checkReason(c GiveVerdict) error {
	def := d.program.Version.Definition
	_, known := def.RejectReason(c.Reason)
	switch {
	case c.Reason == "" || known && c.Decision == DecisionReject:
		return nil
	case known:
		return verification.InvalidField("signal", "payload.reason", ReasonOfRejection)
	}
	return verification.InvalidField("signal", "payload.reason", "must be the code of a reject reason of the workflow")
}

// checkJustified returns verification.ErrInvalid unless a verdict has the reason and the notes that the
// workflow asks its reviewers for, and an approval of somebody who is or may be on a list has notes.
func (d *decision) checkJustified(v VerdictRecorded) error {
	def, reject, silent := d.program.Version.Definition, v.Decision == DecisionReject, strings.TrimSpace(v.Notes) == ""
	if silent && !reject && d.run.listed() {
		return ErrNotesForListed
	}
	if silent && !reject && d.unsettled() {
		return ErrNotesForUnsure
	}
	var problems []verification.FieldError
	if reject && v.Reason == "" && len(def.RejectReasons) > 0 {
		problems = append(problems, verification.FieldError{Name: "payload.reason", Message: "is required for a rejection"})
	}
	if silent && (def.Notes == workflow.NotesRequired || def.Notes == workflow.NotesOnReject && reject) {
		problems = append(problems, verification.FieldError{Name: "payload.notes", Message: "is required"})
	}
	if len(problems) > 0 {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "signal", Fields: problems}
	}
	return nil
}

// confirm decides a verdict that needs two reviewers. It returns the verdict to record,
// or nil if it was proposed or the proposal was sent back. Reviewers who may be one person
// are not two.
func (d *decision) confirm(given VerdictRecorded) (*VerdictRecorded, error) {
	proposed, who := d.run.Proposal, verification.Person{Identity: given.Identity, Name: given.By}
	stands := StandingOf(who, proposed.Decision, proposed.Person(), Claim{})
	switch {
	case given.Identity == "":
		return nil, ErrNoPerson
	case proposed.Decision == DecisionNone:
		d.add(VerdictProposed(given))
		return nil, nil //nolint:nilnil // nothing is recorded
	case stands.Own:
		return nil, ErrOwnProposal
	case proposed.Decision != given.Decision:
		return nil, d.sendBack(ProposalReturned(given))
	case stands.Doubt:
		return nil, ErrMayBeProposer
	}
	return &given, nil
}

func (d *decision) returnProposal(c ReturnProposal) error {
	identity := clean(c.Identity)
	if err := ValidateNotes(c.Notes); err != nil {
		return err
	}
	if err := d.checkClaim(c.Claim, verification.Person{Identity: identity, Name: clean(c.By)}); err != nil {
		return err
	}
	if err := d.checkSeq(c.Seq); err != nil {
		return err
	}
	switch {
	case d.run.Proposal.Decision == DecisionNone:
		return ErrNoProposal
	case identity == "":
		return ErrNoPerson
	}
	return d.sendBack(ProposalReturned{Node: d.run.Wait().Node, Notes: c.Notes, By: clean(c.By), Identity: identity})
}

// sendBack records that a proposal was sent back, unless that happened too often: then the
// proposal can only be confirmed.
func (d *decision) sendBack(f ProposalReturned) error {
	if err := d.run.returned.room(verification.Person{Identity: f.Identity, Name: f.By}, maxReturned, "proposed verdicts that were sent back"); err != nil {
		return err
	}
	d.add(f)
	return nil
}

// checkClaim returns ErrClaimed if a person acts on a run that another person has claimed.
// An API client is not a person: it needs no claim.
func (d *decision) checkClaim(c Claim, who verification.Person) error {
	if who.Identity != "" && c.HeldAt(d.now) && StandingOf(who, DecisionNone, verification.Person{}, c).Claimed {
		return ErrClaimed
	}
	return nil
}

// checkSeq returns verification.ErrConflict if the run has changed since its history had the length that
// a reviewer saw; 0 is any length. A note or an assignment is no change.
func (d *decision) checkSeq(seen int) error {
	if seen != 0 && (seen < d.run.changed || seen > d.run.Seq) {
		return ErrRunChanged
	}
	return nil
}
