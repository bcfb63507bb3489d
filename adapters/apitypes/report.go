// Reports.

package apitypes

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Report is the report of a run.
type Report struct {
	Run        ReportRun            `json:"run"`
	Workflow   rules.ReportWorkflow `json:"workflow"`
	Summary    rules.ReportSummary  `json:"summary"`
	Cards      []Card               `json:"cards"`
	Groups     []ReportGroup        `json:"groups,omitempty"` // the headings of cards
	Error      *rules.RunError      `json:"error"`
	Reviews    []Flag               `json:"reviews,omitempty"`
	Unscreened []rules.Unscreened   `json:"unscreened,omitempty"` // checks that screen, and that the run has not called
	Decision   *rules.Decision      `json:"decision"`             // null when no verdict is needed
	Notes      string               `json:"notes,omitempty"`
	ResolvedAt Timestamp            `json:"resolved_at"` // null without a verdict
	Proposal   *Proposal            `json:"proposal,omitempty"`
	Digest     string               `json:"digest"` // SHA-256 of the history, in hexadecimal
	// InputCorrections are the corrections of the input of the start, oldest first.
	InputCorrections []Correction `json:"input_corrections,omitempty"`
}

// ReportRun is the run of a report.
type ReportRun struct {
	ID          verification.RunID `json:"id"`
	ReferenceID string             `json:"reference_id"`
	Status      rules.Status       `json:"status"`
	StartedAt   Timestamp          `json:"started_at"`
	CompletedAt Timestamp          `json:"completed_at"` // null until the run ends
	Outcome     string             `json:"outcome,omitempty"`
	Data        verification.Data  `json:"data,omitzero"`        // see Run
	RedactedAt  Timestamp          `json:"redacted_at,omitzero"` // see Run
	// ErasedAt and DocumentsRemovedAt are those of RunDetail.
	ErasedAt           Timestamp `json:"erased_at,omitzero"`
	DocumentsRemovedAt Timestamp `json:"documents_removed_at,omitzero"`
	RestrictedAt       Timestamp `json:"restricted_at,omitzero"` // see Run
}

// Card is one step of a report.
type Card struct {
	NodeID verification.NodeID `json:"node_id"`
	Type   workflow.NodeType   `json:"type"`
	Key    string              `json:"key,omitempty"` // of a check
	Label  string              `json:"label"`
	Status rules.CardStatus    `json:"status"`
	Reason string              `json:"reason,omitempty"`
	// Causes are why the step is flagged, on any visit, in the order of the sentences of Reason.
	Causes      []rules.Cause     `json:"causes,omitempty"`
	StartedAt   Timestamp         `json:"started_at"`
	CompletedAt Timestamp         `json:"completed_at,omitzero"`
	Dispatches  int               `json:"dispatches"`
	Data        verification.Data `json:"data,omitzero"`
	// Corrections are the corrections of values of Data, oldest first.
	Corrections []Correction `json:"corrections,omitempty"`
	// Visits are the visits before the one of the data, oldest first; VisitsOmitted counts
	// those that are left out.
	Visits        []CardVisit `json:"visits,omitempty"`
	VisitsOmitted int         `json:"visits_omitted,omitzero"`
	// Rounds are the times at which the customer was asked again for the step, oldest first.
	Rounds []Round `json:"rounds,omitempty"`
	// Rescreened are the hits that later versions of a list had.
	Rescreened []rules.HitsFound `json:"rescreened,omitempty"`
	// Cleared are the hits that the check left out.
	Cleared []Cleared `json:"cleared,omitempty"`
}

// ReportGroup is a group of checks, or a node with for_each, that the run has come to.
type ReportGroup struct {
	NodeID    verification.NodeID `json:"node_id"`
	Type      workflow.NodeType   `json:"type"`
	Label     string              `json:"label"`
	Status    rules.GroupStatus   `json:"status"`
	Order     workflow.Order      `json:"order,omitempty"` // of a group of checks, with Need
	Need      *workflow.Need      `json:"need,omitempty"`
	Members   []GroupMember       `json:"members,omitempty"`
	Elements  []GroupMember       `json:"elements,omitempty"`  // of a node with for_each
	StartedAt Timestamp           `json:"started_at"`          // of the last visit
	DecidedAt Timestamp           `json:"decided_at,omitzero"` // left out until it is decided
}

// GroupMember says what a member or an element of a group answered.
type GroupMember struct {
	NodeID verification.NodeID `json:"node_id"`
	Label  string              `json:"label"`
	Answer rules.MemberAnswer  `json:"answer"`
}

// Round is a time at which the customer was asked again. It does not say by whom.
type Round struct {
	Round      int       `json:"round"`             // 1 for the first
	Visit      int       `json:"visit"`             // of the step before the round
	Reasons    []string  `json:"reasons,omitempty"` // codes
	Fields     []string  `json:"fields,omitempty"`  // none for all
	Note       string    `json:"note_to_customer,omitempty"`
	AskedAt    Timestamp `json:"asked_at"`
	AnsweredAt Timestamp `json:"answered_at,omitzero"` // left out while the customer has not answered
}

// Cleared is a hit that a check left out, because a reviewer had decided it. It does not say who.
type Cleared struct {
	List        string           `json:"list"`
	ListVersion string           `json:"list_version,omitempty"`
	Hit         verification.Hit `json:"hit"`
	// RunID and NodeID say where the hit was decided: the run may be the same one.
	RunID     verification.RunID  `json:"run_id"`
	NodeID    verification.NodeID `json:"node_id"`
	Visit     int                 `json:"visit"` // of the check of that run, 1 for the first
	DecidedAt Timestamp           `json:"decided_at"`
}

// Correction is a note beside a recorded value. It does not say whose.
type Correction struct {
	Field       string    `json:"field"` // the path of the value, such as owners[0].name
	Correction  string    `json:"correction"`
	CorrectedAt Timestamp `json:"corrected_at"`
}

func newCorrections(all []rules.Correction) (corrections []Correction) {
	for _, c := range all {
		corrections = append(corrections, Correction{c.Field, c.Text, Timestamp{c.At}})
	}
	return corrections
}

// CardVisit is an earlier visit of a step.
type CardVisit struct {
	Visit       int               `json:"visit"` // 1 for the first
	Status      rules.CardStatus  `json:"status"`
	Reason      string            `json:"reason,omitempty"`
	Causes      []rules.Cause     `json:"causes,omitempty"`
	StartedAt   Timestamp         `json:"started_at"`
	CompletedAt Timestamp         `json:"completed_at,omitzero"`
	Dispatches  int               `json:"dispatches"`
	Data        verification.Data `json:"data,omitzero"`
}

// NewReport converts a report.
func NewReport(r rules.Report) Report {
	return Report{
		Run: ReportRun{
			ID: r.Run.ID, ReferenceID: r.Run.ReferenceID, Status: r.Run.Status,
			StartedAt: Timestamp{r.Run.StartedAt}, CompletedAt: Timestamp{r.Run.CompletedAt},
			Outcome: r.Run.Outcome, Data: r.Run.Data, RedactedAt: Timestamp{r.Run.RedactedAt},
			ErasedAt: Timestamp{r.Run.ErasedAt}, DocumentsRemovedAt: Timestamp{r.Run.DocumentsRemovedAt},
			RestrictedAt: Timestamp{r.Run.RestrictedAt},
		},
		Workflow: r.Workflow, Summary: r.Summary,
		Cards: convertAll(r.Cards, newCard), Groups: newGroups(r.Groups), Error: r.Error, Reviews: newFlags(r.Flags), Unscreened: r.Unscreened,
		Decision: NewDecision(r.Decision), Notes: r.Notes, ResolvedAt: Timestamp{r.ResolvedAt}, Digest: r.Digest,
		Proposal: newProposal(r.Proposal), InputCorrections: newCorrections(r.InputCorrections),
	}
}

func newCard(c rules.Card) Card {
	return Card{
		NodeID: c.NodeID, Type: c.Type, Key: c.Key, Label: c.Label, Status: c.Status, Reason: c.Reason, Causes: c.Causes,
		StartedAt: Timestamp{c.StartedAt}, CompletedAt: Timestamp{c.CompletedAt}, Dispatches: c.Dispatches, Data: c.Data,
		Corrections: newCorrections(c.Corrections), Visits: newVisits(c.Visits), VisitsOmitted: c.VisitsOmitted,
		Rounds: newRounds(c.Rounds), Rescreened: withoutDigests(c.Rescreened), Cleared: newCleared(c.Cleared),
	}
}

func newGroups(all []rules.ReportGroup) (groups []ReportGroup) {
	for _, g := range all {
		group := ReportGroup{
			NodeID: g.NodeID, Type: g.Type, Label: g.Label, Status: g.Status,
			StartedAt: Timestamp{g.StartedAt}, DecidedAt: Timestamp{g.DecidedAt},
		}
		for _, m := range g.Members {
			member := GroupMember{m.NodeID, m.Label, m.Answer}
			if m.Answer == rules.AnswerFlagged { // its card says so
				member.Answer = rules.AnswerConfirmed
			}
			if g.Each {
				group.Elements = append(group.Elements, member)
			} else {
				group.Members = append(group.Members, member)
			}
		}
		if g.Status == rules.GroupFlagged {
			group.Status = rules.GroupMet
		}
		if !g.Each {
			group.Order, group.Need = g.Order, &g.Need
		}
		groups = append(groups, group)
	}
	return groups
}

func newRounds(all []rules.Round) (rounds []Round) {
	for _, r := range all {
		rounds = append(rounds, Round{
			Round: r.Round, Visit: r.Visit, Reasons: r.Reasons, Fields: r.Fields, Note: r.Note,
			AskedAt: Timestamp{r.At}, AnsweredAt: Timestamp{r.AnsweredAt},
		})
	}
	return rounds
}

// withoutDigests returns hits as the API shows them.
func withoutDigests(all []rules.HitsFound) []rules.HitsFound {
	all = slices.Clone(all)
	for i := range all {
		all[i].Hits, all[i].Asked = slices.Clone(all[i].Hits), ""
		for k := range all[i].Hits {
			all[i].Hits[k].Digest = ""
		}
	}
	return all
}

func newCleared(all []rules.Clearance) (cleared []Cleared) {
	for _, c := range all {
		c.Hit.Digest = ""
		cleared = append(cleared, Cleared{
			List: c.List, ListVersion: c.ListVersion, Hit: c.Hit, RunID: c.Run, NodeID: c.Node, Visit: c.Visit, DecidedAt: Timestamp{c.At},
		})
	}
	return cleared
}

func newVisits(all []rules.CardVisit) (visits []CardVisit) {
	for _, v := range all {
		visits = append(visits, CardVisit{
			Visit: v.Number, Status: v.Status, Reason: v.Reason, Causes: v.Causes,
			StartedAt: Timestamp{v.StartedAt}, CompletedAt: Timestamp{v.CompletedAt}, Dispatches: v.Dispatches, Data: v.Data,
		})
	}
	return visits
}
