// What a customer changed in a round: the old answers beside the new ones, and which checks have seen them.

package runpage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// changedView is the last round that the customer has answered.
type changedView struct {
	Title string
	Asked string // who asked, when and why
	Note  string // to the customer
	Rows  []changedRow
	Same  string // the fields that are as before, or that all are; empty for none
	Again []string
	Kept  string // the checks that have not seen the new answer; empty for none
}

// changedRow is a field whose answer changed.
type changedRow struct {
	Label    string
	Old, New changedValue
}

// changedValue is one answer to a field; zero for none.
type changedValue struct {
	Text string
	File *documentView
}

// changedOf returns what the customer changed in the last round that has an answer; nil for none.
func (p *Pages) changedOf(s shell.Session, rec desk.RunRecord, cards []cardView) *changedView {
	var card rules.Card
	var round rules.Round
	for _, c := range rec.Report.Cards {
		for _, r := range c.Rounds {
			if !r.AnsweredAt.IsZero() && r.At.After(round.At) {
				card, round = c, r
			}
		}
	}
	if round.At.IsZero() || rec.Hidden {
		return nil
	}
	answer := card.Data
	for _, visit := range card.Visits {
		if visit.Number == round.Visit+1 {
			answer = visit.Data
		}
	}
	v := &changedView{Title: s.Say("changed.title", round.Round), Note: round.Note}
	why := strings.Join(askedReasons(s, rec, round.Reasons), " ")
	if v.Asked = s.Say("changed.asked.workflow", s.At(round.At).Text, why); rec.Definition.Nodes[round.From].Type == workflow.NodeReview {
		v.Asked = s.Say("changed.asked", shell.Isolate(personName(s, round.By)), s.At(round.At).Text, why)
	}
	v.compare(s, rec, card, p.dataOf(s, rec, card, round.Earlier, nil), p.dataOf(s, rec, card, answer, nil))
	v.checks(s, rec, cards, round.At)
	return v
}

// compare compares the answers to a form.
func (v *changedView) compare(s shell.Session, rec desk.RunRecord, card rules.Card, old, answer cardData) {
	n, _ := rec.Definition.Node(card.NodeID)
	var same, places []string
	before, after, labels := old.answers(), answer.answers(), map[string]string{}
	for _, a := range slices.Concat(after, before) {
		if _, known := labels[a.place]; !known {
			places = append(places, a.place)
			labels[a.place] = cmp.Or(n.Fields.LabelAt(a.place, s.Lang()), a.label)
		}
	}
	at := func(all []answered, place string) (value changedValue) {
		if i := slices.IndexFunc(all, func(a answered) bool { return a.place == place }); i >= 0 {
			value = all[i].changedValue
		}
		return value
	}
	for _, place := range places {
		was, is := at(before, place), at(after, place)
		if was.Text == is.Text && (was.File == nil) == (is.File == nil) && (was.File == nil || was.File.ID == is.File.ID) {
			same = append(same, shell.Isolate(labels[place]))
			continue
		}
		v.Rows = append(v.Rows, changedRow{labels[place], was, is})
	}
	switch {
	case len(v.Rows) == 0:
		v.Same = s.Say("changed.nothing")
	case len(same) > 0:
		v.Same = s.Say("changed.same", strings.Join(same, ", "))
	}
}

// answered is the answer to a field at a place of a form.
type answered struct {
	place, label string
	changedValue
}

// answers returns the single answers of a form: uploads first.
func (d cardData) answers() (all []answered) {
	for _, file := range d.Documents {
		all = append(all, answered{file.Place, file.Label, changedValue{File: &file}})
	}
	var add func(fields []dataField)
	add = func(fields []dataField) {
		for _, f := range fields {
			if add(slices.Concat(f.Fields, f.Items)); f.Text != "" {
				all = append(all, answered{f.Path, f.Label, changedValue{Text: strings.TrimSpace(f.Text + " " + f.Unit)}})
			}
		}
	}
	add(d.Table.Fields)
	return all
}

// checks says which checks ran again after a question, and which did not.
func (v *changedView) checks(s shell.Session, rec desk.RunRecord, cards []cardView, asked time.Time) {
	again := map[verification.NodeID]bool{}
	from := slices.IndexFunc(rec.History, func(e rules.Event) bool {
		_, ok := e.Fact.(rules.AskedAgain)
		return ok && e.At.Equal(asked)
	})
	for _, e := range rec.History[from+1:] {
		if f, ok := e.Fact.(rules.Dispatched); ok {
			again[f.Node] = true
		}
	}
	var kept []string
	for i, card := range cards {
		switch {
		case card.of != workflow.NodeCheck:
		case !again[card.Node]:
			if at := rec.Report.Cards[i].CompletedAt; !at.IsZero() && !at.After(asked) {
				kept = append(kept, shell.Isolate(card.Label))
			}
		case len(card.Visits) > 0:
			was := card.Visits[0]
			v.Again = append(v.Again, s.Say("changed.again", shell.Isolate(card.Label), was.score(was.Badge.Text), card.score(card.Badge.Text)))
		default:
			v.Again = append(v.Again, s.Say("changed.first", shell.Isolate(card.Label), card.score(card.Badge.Text)))
		}
	}
	if len(kept) > 0 {
		v.Kept = s.Say("changed.kept", strings.Join(kept, ", "))
	}
}

// score returns what a badge says, with the first score of the step.
func (d cardData) score(badge string) string {
	for _, f := range slices.Concat(d.Table.Fields, d.Found.Fields) {
		if f.Scale != nil {
			return badge + ", " + f.Text
		}
	}
	return badge
}
