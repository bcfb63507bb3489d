// Decisions on hits: of one hit, or of all that are selected.

package runpage

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// DecideHits records what a person says about a hit, or about each of those that are selected, and leads
// back to it. A decision that is refused stays on the page.
func (p *Pages) DecideHits(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	kept := keptVerdict{
		Hit: severalID, Hits: r.PostForm["hit"], HitMatch: r.PostForm.Get("match"), HitReason: strings.TrimSpace(r.PostForm.Get("reason")),
	}
	hits, err := p.postedHits(r, s, id, &kept)
	if err != nil {
		return err
	}
	claim, err := p.claim(r.Context(), s, id, false)
	if err != nil {
		return err
	}
	switch {
	case len(hits) == 0 && len(kept.Hits) == 0:
		kept.HitProblem = s.Say("hit.several.none")
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, kept)
	case len(hits) < len(kept.Hits):
		err = verification.Conflict("run", "some of these hits are gone")
	}
	for _, d := range hits {
		d.Match, d.Reason, d.Justified, d.By, d.Identity = rules.HitMatch(kept.HitMatch), kept.HitReason, true, s.Name, s.Identity
		if err == nil {
			err = p.shell.Engine.DecideHit(r.Context(), s.Tenant, id, d)
		}
	}
	switch {
	case err == nil:
		at := kept.Hit
		if at == severalID {
			at = "hits"
		}
		return shell.Redirect(w, s.Base+"/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query()+"#"+at)
	case errors.Is(err, rules.ErrClaimed):
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say("hit.taken", shell.Isolate(claim.Name))}
		return p.showRun(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrConflict):
		key := "hit.gone"
		if errors.Is(err, rules.ErrFull) {
			key = "desk.full"
		}
		kept.Note = &web.Note{Tone: web.Warning, Text: s.Say(key)}
		return p.showRun(w, r, s, http.StatusConflict, kept)
	case errors.Is(err, verification.ErrInvalid):
		kept.HitProblem = hitProblem(s, err, kept)
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, kept)
	}
	return err
}

// postedHits returns the hits of a form: one, or those that are selected. It names the one hit in kept.
func (p *Pages) postedHits(r *http.Request, s shell.Session, id verification.RunID, kept *keptVerdict) (all []rules.DecideHit, err error) {
	decides := func(address, list, entry, digest string) error {
		node, visit, err := rules.ParseVisitAddress(address)
		all = append(all, rules.DecideHit{Node: node, Visit: visit, List: list, Entry: entry, Digest: digest, Together: kept.Hit == severalID})
		return err
	}
	if get := r.PostForm.Get; r.PostForm.Has("node") {
		kept.Hit, kept.Hits = hitID(get("node"), get("list"), get("entry"), get("digest")), nil
		err = decides(get("node"), get("list"), get("entry"), get("digest"))
		return all, err
	}
	rec, err := p.Desk.RunRecord(r.Context(), s.Tenant, id, s.May(verification.RoleAuditor))
	if err != nil {
		return nil, err
	}
	for _, card := range p.cards(s, rec) {
		for _, h := range card.allHits() {
			if slices.Contains(kept.Hits, h.ID) {
				if err := decides(h.address, h.of.List, h.of.ID, h.of.Digest); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// hitProblem says why a decision on hits is refused.
func hitProblem(s shell.Session, err error, kept keptVerdict) string {
	refused, ok := errors.AsType[*verification.Error](err)
	switch {
	case ok && slices.ContainsFunc(refused.Fields, func(f verification.FieldError) bool { return f.Name == "entry" }):
		return s.Say("hit.problem.alone")
	case kept.HitMatch == string(rules.MatchOther) && kept.HitReason == "":
		return s.Say("hit.problem.equal")
	}
	return s.Say("hit.invalid", rules.MaxNotes)
}
