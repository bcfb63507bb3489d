// Hits of a screening: the customer beside the entry, and what reviewers say about each hit.

package runpage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// hitsTable has the hits of all checks of a run, the closest first.
type hitsTable struct {
	Title string
	Who   bool // they are about several people or companies
	Rows  []*hitView
	// Several decides the selected hits with one reason; nil if none may be selected.
	Several *hitForm
}

// Columns returns the number of columns.
func (t hitsTable) Columns() (n int) {
	n = 6
	for _, more := range []bool{t.Who, t.Several != nil} {
		if more {
			n++
		}
	}
	return n
}

// severalID stands for the hits that are decided together in place of the id of one.
const severalID = "several"

// hitView is an entry of a list that is like the person or company of a check.
type hitView struct {
	shell.Session
	ID         string // of its rows on the page
	Name, List string
	Who        string // the person or company that the check has screened
	Visit      string // names an earlier visit of the check; empty for the last one
	Step       string // the label of the check
	Node       verification.NodeID
	Like, Born string // how it is like the person, in words; empty if that is not known
	Countries  labels.HitRow
	Rows       []labels.HitRow
	Reasons    []string
	Dir        string       // the direction of the reasons
	Decision   *verdictView // the newest; nil for none
	Form       *hitForm     // nil if the person cannot decide the hit now
	Kept       string       // the reason of a decision that was refused, if there is no form
	Selected   bool         // to be decided together with others

	Table *hitsTable

	address string // of the visit of the check
	of      rules.FoundHit
	like    rules.Likeness
	said    bool // the run says what the check was asked
	Asks    bool // the person must decide it to confirm an approval
}

// hitForm is the form with which a person decides a hit.
type hitForm struct {
	ID, Label                 string // of the field of the reason
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

// Open reports whether the person may decide the hit, and nobody has, or the person must.
func (v hitView) Open() bool { return v.Form != nil && (v.Decision == nil || v.Asks) }

// Alone reports whether the hit is decided with a reason of its own, and never together with others.
func (v hitView) Alone() bool { return v.Agrees() || !v.said || v.Visit != "" }

// hitsOf returns the hits of a visit of a check, by its address: of the check, and of later versions
// of the list.
func hitsOf(s shell.Session, rec desk.RunRecord, address string, found []rules.FoundHit, asked verification.Data) (all []hitView) {
	if rec.Hidden {
		return nil
	}
	for _, h := range found {
		like := rules.LikenessOf(h.Hit, asked, rec.Subject)
		v := hitView{
			Session: s, ID: hitID(address, h.List, h.ID, h.Digest), Name: h.Name, List: labels.InWords(h.List),
			Rows: hitRows(s, asked, rec.Subject, h.Hit), Dir: direction(h.Reasons), address: address, of: h, like: like, said: len(asked) > 0,
		}
		if like.Name != "" {
			v.Like, v.Born = queue.NameOf(s, &like, "hits.like."), queue.BornOf(s, &like, "hits.born.")
		}
		for _, row := range v.Rows {
			switch row.Fact { //nolint:exhaustive // the others are in the details
			case labels.HitName:
				for _, part := range row.Customer {
					v.Who += part.Text
				}
			case labels.HitCountries:
				v.Countries = row
			}
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
	return all
}

// hitsTable returns the hits of all cards; nil for none.
func (v *runView) hitsTable(s shell.Session, rec desk.RunRecord) *hitsTable {
	t := &hitsTable{}
	for i := range v.cards {
		card := &v.cards[i]
		for _, h := range card.allHits() {
			h.Step, h.Node, h.Table = card.Label, card.Node, t
			if node, element, _ := card.Node.Parts(); element > 0 && (h.Who == "" || h.Who == rec.Subject.Name) { // nothing else says whom
				h.Who = card.Label
				for _, g := range rec.Report.Groups {
					if g.NodeID == node.Element(element) {
						h.Who = g.Label
					}
				}
			}
			t.Rows = append(t.Rows, h)
			t.Who = t.Who || h.Who != t.Rows[0].Who || rec.Subject.Name != "" && h.Who != rec.Subject.Name
		}
	}
	if t.Rows == nil {
		return nil
	}
	slices.SortStableFunc(t.Rows, func(a, b *hitView) int { return a.like.Compare(b.like) })
	t.Title = s.Count("hits.title", len(t.Rows))
	return t
}

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
func hitRows(s shell.Session, asked verification.Data, about rules.Subject, h verification.Hit) []labels.HitRow {
	return labels.HitRows(asked, about, h, labels.HitWords{
		CountryCode: func(text string) string {
			code, _ := country.Parse(text)
			return cmp.Or(code, text)
		},
		CountryName: func(code string) string { return country.Name(code, s.Lang()) },
		Topic:       func(topic string) string { return queue.TopicOf(s, topic) },
	})
}

// decideHits adds the form of each hit for a person who may decide now, and folds the
// verdict until every hit is decided. proposal is a verdict that another person has proposed.
func (v *runView) decideHits(s shell.Session, action string, proposal rules.Verdict, kept keptVerdict) {
	if v.Hits == nil {
		return
	}
	left, unsettled, together := 0, 0, 0
	refused := slices.IndexFunc(v.Verdict.Problems, func(p fieldProblem) bool { return p.Field == hitsField })
	for _, h := range v.Hits.Rows {
		h.Asks = v.Verdict.Needed && !v.Verdict.Own && h.of.AsksSecond(proposal, h.Agrees())
		if h.Decision == nil || h.Asks {
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
			ID: h.ID, Label: s.Say("hit.reason"), Action: action, Node: h.address, List: h.of.List, Entry: h.of.ID, Digest: h.of.Digest,
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
		if h.Selected = slices.Contains(kept.Hits, h.ID); h.Open() && !h.Alone() {
			together++
		}
	}
	if together > 0 && len(v.Hits.Rows) > 1 {
		v.Hits.Several = &hitForm{ID: severalID, Label: s.Say("hits.several"), Action: action, Rule: s.Say("verdict.notes.optional"), Max: rules.MaxNotes}
		if kept.Hit == severalID {
			v.Hits.Several.Reason, v.Hits.Several.Problem, v.Hits.Several.Begun = kept.HitReason, kept.HitProblem, kept.HitMatch
		}
	}
	if v.Verdict.Needed && left > 0 {
		v.Verdict.HitsLeft = [2]int{left, len(v.Hits.Rows)}
		v.Hits.Title = s.Say("hits.left", left, len(v.Hits.Rows))
	} else if v.Verdict.Needed {
		v.Hits.Title = s.Count("hits.decided", len(v.Hits.Rows))
	}
	if unsettled > 0 && !v.Redacted {
		v.Verdict.Unsettled = s.Count("verdict.unsettled", unsettled)
		v.Verdict.notesToApprove(s)
	}
}
