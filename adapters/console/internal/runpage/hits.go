// Hits of a screening: the customer beside the entry, and what reviewers say about each hit.

package runpage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// hitView is an entry of a list that is like the person or company of a check.
type hitView struct {
	shell.Session
	ID       string // of its section on the page
	Name     string
	Like     []string // how it is like the person, in words, after the list
	Rows     []hitRow
	Reasons  []string
	Dir      string       // the direction of the reasons
	Decision *verdictView // the newest; nil for none
	Form     *hitForm     // nil if the person cannot decide the hit now
	Kept     string       // the reason of a decision that was refused, if there is no form

	address string // of the visit of the check
	of      rules.FoundHit
	like    rules.Likeness
	Asks    bool // the person must decide it to confirm an approval
}

// hitRow is a fact of the customer beside the same fact of the entry. The parts that both
// have are marked.
type hitRow struct {
	Fact            string
	Customer, Entry []labels.Part
}

// hitForm is the form with which a person decides a hit.
type hitForm struct {
	Action                    string // its URL; with the query of the queue
	Node, List, Entry, Digest string
	Reason                    string // typed before
	Problem                   string // with the reason; empty for none
	Begun                     string // the decision that was refused: its button comes first; empty for none
	Rule                      string // when the reason is required
	Max                       int    // characters of the reason
}

// Matches returns the decisions in the order of their buttons.
func (f hitForm) Matches() []rules.HitMatch {
	all := []rules.HitMatch{rules.MatchSame, rules.MatchOther, rules.MatchUnsure}
	slices.SortStableFunc(all, func(a, b rules.HitMatch) int {
		switch begun := rules.HitMatch(f.Begun); {
		case a == begun:
			return -1
		case b == begun:
			return 1
		}
		return 0
	})
	return all
}

// Cleared reports whether the entry is another person or company.
func (v hitView) Cleared() bool { return v.of.Decision.Match == rules.MatchOther }

// Agrees reports whether the name or a number and the birth date are the same.
func (v hitView) Agrees() bool { return v.like.Close() }

// hitsOf returns the hits of a visit of a check, by its address: of the check, and of later versions
// of the list.
func hitsOf(s shell.Session, rec desk.RunRecord, address string, found []rules.FoundHit, asked verification.Data) (all []hitView) {
	if rec.Hidden {
		return nil
	}
	for _, h := range found {
		like := rules.LikenessOf(h.Hit, asked, rec.Subject)
		v := hitView{
			Session: s, ID: hitID(address, h.List, h.ID, h.Digest), Name: h.Name,
			Like: append([]string{labels.InWords(h.List)}, queue.AlikeOf(s, &like)...),
			Rows: hitRows(s, asked, rec.Subject, h.Hit), Dir: direction(h.Reasons), address: address, of: h,
			like: like,
		}
		for _, reason := range h.Reasons {
			v.Reasons = append(v.Reasons, labels.IsolateWords(reason))
		}
		v.Reasons = append(v.Reasons, s.Say("hit.score", queue.Percent(h.Score)))
		if d := h.Decision; d.Match != "" {
			v.Decision = &verdictView{Badge: matchBadge(s, d.Match), By: personName(s, d.By), At: s.Ago(d.At, rec.At), Notes: d.Reason}
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b hitView) int { return a.like.Compare(b.like) })
	return all
}

// judgedOf returns the decisions on the hits of a check in a redacted run, oldest first: nothing says any more
// which hit each one was about.
func judgedOf(s shell.Session, rec desk.RunRecord, check verification.NodeID) (all []verdictView) {
	if !rec.Hidden {
		return nil
	}
	for _, e := range rec.History {
		if d, ok := e.Fact.(rules.HitDecided); ok && d.Node == check {
			all = append(all, verdictView{Badge: matchBadge(s, d.Match), By: personName(s, d.By), At: s.Ago(e.At, rec.At)})
		}
	}
	return all
}

// clearedView is a hit that a check left out.
type clearedView struct {
	Text      string
	URL, Link string // of the run with the decision; empty if it is this one
}

// clearedOf returns the hits that a check left out.
func clearedOf(s shell.Session, rec desk.RunRecord, card rules.Card) (all []clearedView) {
	for _, c := range card.Cleared {
		v := clearedView{Text: clearedBy(s, c)}
		if c.Run != rec.Report.Run.ID {
			v.URL, v.Link = s.Base+"/runs/"+string(c.Run), s.Say("hit.cleared.run")
		}
		all = append(all, v)
	}
	return all
}

// clearedBy says who cleared a hit, and when.
func clearedBy(s shell.Session, c rules.Clearance) string {
	return s.Say("hit.cleared", shell.Isolate(entryName(s, cmp.Or(c.Hit.Name, c.Hit.ID))), shell.Isolate(personName(s, c.By)), s.At(c.At).Text)
}

// entryName returns the name of an entry of a list, or words for one that is not shown.
func entryName(s shell.Session, name string) string { return cmp.Or(name, s.Say("hit.redacted")) }

// hitID returns the id of the section of a hit: names of nodes and entries may have any
// character.
func hitID(address, list, entry, digest string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", address, list, entry, digest))
	return "hit-" + hex.EncodeToString(sum[:8])
}

func matchBadge(s shell.Session, m rules.HitMatch) web.Badge {
	b := web.Badge{Text: s.Say("hit." + string(m))}
	switch m {
	case rules.MatchSame:
		b.Tone, b.Icon = web.Bad, "flag"
	case rules.MatchOther:
		b.Icon = "tick"
	case rules.MatchUnsure:
		b.Tone = web.Warning
	}
	return b
}

// hitRows returns the facts of the person or company that a check has screened beside the facts
// of an entry.
func hitRows(s shell.Session, asked verification.Data, about rules.Subject, h verification.Hit) (rows []hitRow) {
	for _, row := range labels.HitRows(asked, about, h, labels.HitWords{
		CountryCode: func(text string) string {
			code, _ := country.Parse(text)
			return cmp.Or(code, text)
		},
		CountryName: func(code string) string { return country.Name(code, s.Lang()) },
		Topic:       func(topic string) string { return queue.TopicOf(s, topic) },
	}) {
		rows = append(rows, hitRow{s.Say("hit." + string(row.Fact)), row.Customer, row.Entry})
	}
	return rows
}

// decideHits adds the form of each hit for a person who may decide now, and folds the
// verdict until every hit is decided. proposal is a verdict that another person has proposed.
func (v *runView) decideHits(s shell.Session, action string, proposal rules.Verdict, kept keptVerdict) {
	total, left, unsettled := 0, 0, 0
	refused := slices.IndexFunc(v.Verdict.Problems, func(p fieldProblem) bool { return p.Field == hitsField })
	for i := range v.cards {
		for _, h := range v.cards[i].allHits() {
			h.Asks = v.Verdict.Needed && !v.Verdict.Own && h.of.AsksSecond(proposal, h.Agrees())
			if total++; h.Decision == nil || h.Asks {
				left++
			}
			if h.of.ID != "" && !h.of.Settled() {
				unsettled++
			}
			if !v.Verdict.Needed || !v.Verdict.Form {
				if h.ID == kept.Hit {
					h.Kept = kept.HitReason
				}
				continue
			}
			h.Form = &hitForm{
				Action: action, Node: h.address, List: h.of.List, Entry: h.of.ID, Digest: h.of.Digest,
				Reason: h.of.Decision.Reason, Rule: s.Say("verdict.notes.optional"), Max: rules.MaxNotes,
			}
			if h.Agrees() {
				h.Form.Rule = s.Say("hit.reason.equal")
			}
			if h.Asks { // for a reason of their own
				h.Form.Reason = ""
			}
			if h.Asks && refused >= 0 && v.Verdict.Problems[refused].Field == hitsField {
				h.Form.Problem, v.Verdict.Problems[refused].Field = v.Verdict.Problems[refused].Text, h.ID
			}
			if h.ID == kept.Hit {
				h.Form.Reason, h.Form.Problem, h.Form.Begun = kept.HitReason, kept.HitProblem, kept.HitMatch
			}
		}
	}
	if v.Verdict.Needed && left > 0 {
		v.Verdict.HitsLeft = [2]int{left, total}
	}
	if unsettled > 0 && !v.Redacted {
		v.Verdict.Unsettled = s.Count("verdict.unsettled", unsettled)
		v.Verdict.notesToApprove(s)
	}
}

// DecideHit records what a person says about a hit, and leads back to the hit. A decision
// that is refused stays on the page.
func (p *Pages) DecideHit(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	address := r.PostForm.Get("node")
	node, visit, err := rules.ParseVisitAddress(address)
	if err != nil {
		return err
	}
	d := rules.DecideHit{
		Node: node, Visit: visit, List: r.PostForm.Get("list"), Entry: r.PostForm.Get("entry"), Digest: r.PostForm.Get("digest"),
		Match: rules.HitMatch(r.PostForm.Get("match")), Reason: strings.TrimSpace(r.PostForm.Get("reason")), Justified: true, By: s.Name, Identity: s.Identity,
	}
	kept := keptVerdict{Hit: hitID(address, d.List, d.Entry, d.Digest), HitMatch: string(d.Match), HitReason: d.Reason}
	claim, err := p.claim(r.Context(), s, id, false)
	if err != nil {
		return err
	}
	err = p.shell.Engine.DecideHit(r.Context(), s.Tenant, id, d)
	switch {
	case err == nil:
		return shell.Redirect(w, s.Base+"/runs/"+string(id)+queue.FilterOf(r.URL.Query()).Query()+"#"+kept.Hit)
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
		kept.HitProblem = s.Say("hit.invalid", rules.MaxNotes)
		if d.Match == rules.MatchOther && d.Reason == "" {
			kept.HitProblem = s.Say("hit.problem.equal")
		}
		return p.showRun(w, r, s, http.StatusUnprocessableEntity, kept)
	}
	return err
}
