// Hits without a row: a check left them out, or they were removed.

package runpage

import (
	"cmp"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

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
