// How an entry of a list is like the person or company that a check has screened, for people.

package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/internal/screened"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Likeness says how an entry of a list is like the person or company that a check has screened. It is zero for a hit of an
// earlier visit: a run does not say any more what was asked then.
type Likeness struct {
	Name NameLikeness `json:"name"`
	// Words are the words that only the person has, and those that only the entry has, if the names are NameAlike.
	Words [2]string    `json:"words,omitzero"`
	Born  BornLikeness `json:"born"`            // empty for a company without a date
	Years int          `json:"years,omitempty"` // between the two birth dates, if they are BornApart
	Date  string       `json:"date,omitempty"`  // the birth date of the entry that is the closest
}

// NameLikeness says how the name of an entry is like the name of the person or company.
type NameLikeness string

// The ways in which a name is like another one, the closest first.
const (
	nameSame   NameLikeness = "same"   // the same words
	nameAlias  NameLikeness = "alias"  // another name of the entry is the same
	nameNumber NameLikeness = "number" // a number is the same
	nameScript NameLikeness = "script" // the same in another script
	nameSpelt  NameLikeness = "spelt"  // the same in another spelling
	NameAlike  NameLikeness = "alike"
)

// BornLikeness says how the birth date of an entry is like the birth date of the person.
type BornLikeness string

// The ways in which two birth dates are alike, the closest first. Of several dates, the closest pair counts.
const (
	BornSameDay   BornLikeness = "day"
	bornSameMonth BornLikeness = "month"   // one of them has no day
	bornSameYear  BornLikeness = "year"    // one of them has neither day nor month
	bornOtherDay  BornLikeness = "other"   // in the same year
	BornNotGiven  BornLikeness = "unknown" // the person has none
	bornNotListed BornLikeness = "unlisted"
	bornUnread    BornLikeness = "unread" // one of them is no date
	BornApart     BornLikeness = "apart"  // in other years
)

// LikenessOf compares an entry with the person or company that a check has screened: as the check was asked and, if the
// run is about the same one, as the run says.
func LikenessOf(h verification.Hit, asked verification.Data, about Subject) Likeness {
	who := screened.Of(asked.Map(), about.Name, about.BirthDate, about.Number)
	l := Likeness{Name: NameAlike}
	if kind, _ := asked.Map()["kind"].(string); kind != "company" || len(who.BirthDates) > 0 && len(h.BirthDates) > 0 {
		l.compareBorn(who.BirthDates, h.BirthDates)
	}
	switch name := fold.Words(who.Name); {
	case name != "" && fold.Words(h.Name) == name:
		l.Name = nameSame
	case name != "" && fold.Words(h.Alias) == name:
		l.Name = nameAlias
	case hasNumber(h, who.Numbers):
		l.Name = nameNumber
	case h.Score >= sameScore && who.Name == "": // the check was asked in other words than ours
		l.Name = nameSame
	case h.Score >= sameScore:
		if l.Name = nameSpelt; scriptOf(who.Name) != scriptOf(cmp.Or(h.Alias, h.Name)) {
			l.Name = nameScript
		}
	default:
		listed := cmp.Or(h.Alias, h.Name)
		l.Words = [2]string{shortened(wordsNotIn(who.Name, listed), maxDifferingText), shortened(wordsNotIn(listed, who.Name), maxDifferingText)}
	}
	return l
}

// Close reports whether name or number and birth date agree, as far as both have one.
func (l Likeness) Close() bool {
	return l.equal() && (l.Born == BornSameDay || l.Born == bornSameMonth || l.Born == bornSameYear)
}

// equal reports whether the name or a number is the same.
func (l Likeness) equal() bool { return l.Name != NameAlike && l.Name != "" }

// Compare orders hits for a reviewer, the closest first.
func (l Likeness) Compare(other Likeness) int { return slices.Compare(l.rank(), other.rank()) }

func (l Likeness) rank() []int {
	first := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	born := slices.Index([]BornLikeness{BornSameDay, bornSameMonth, bornSameYear, bornOtherDay, BornNotGiven, bornNotListed, bornUnread, "", BornApart}, l.Born)
	return []int{first(l.Close()), first(l.equal()), born, l.Years}
}

// hasNumber reports whether the reasons of a hit have one of the numbers.
func hasNumber(h verification.Hit, numbers []string) bool {
	return slices.ContainsFunc(numbers, func(number string) bool {
		number = fold.Name(number)
		return len(number) >= minSameNumber && slices.ContainsFunc(h.Reasons, func(reason string) bool {
			return strings.Contains(fold.Name(reason), number)
		})
	})
}

// compareBorn compares birth dates.
func (l *Likeness) compareBorn(given, listed []string) {
	switch {
	case len(given) == 0:
		l.Born = BornNotGiven
		if len(listed) > 0 {
			l.Date = listed[0]
		}
		return
	case len(listed) == 0:
		l.Born = bornNotListed
		return
	}
	var all []Likeness
	for _, a := range given {
		for _, b := range listed {
			born, years := bornAs(strings.TrimSpace(a), dateIn(b))
			all = append(all, Likeness{Born: born, Years: years, Date: b})
		}
	}
	closest := slices.MinFunc(all, Likeness.Compare)
	l.Born, l.Years, l.Date = closest.Born, closest.Years, closest.Date
}

// bornAs compares two birth dates, and returns the years between them.
func bornAs(a, b string) (BornLikeness, int) {
	if !birthdate.Is(a) || !birthdate.Is(b) {
		return bornUnread, 0
	}
	x, _ := strconv.Atoi(a[:4])
	y, _ := strconv.Atoi(b[:4])
	switch both := min(len(a), len(b)); {
	case x != y:
		return BornApart, max(x-y, y-x)
	case !birthdate.Agree(a, b):
		return bornOtherDay, 0
	case both == len("2006"):
		return bornSameYear, 0
	case both == len("2006-01"):
		return bornSameMonth, 0
	}
	return BornSameDay, 0
}

// dateIn returns the date in a listed date, without what stands before and after it, such as "~".
func dateIn(listed string) string {
	at := strings.IndexFunc(listed, isDigit)
	if at < 0 {
		return ""
	}
	listed = listed[at:]
	if end := strings.IndexFunc(listed, func(r rune) bool { return !isDigit(r) && r != '-' }); end >= 0 {
		listed = listed[:end]
	}
	return strings.TrimRight(listed, "-")
}

// wordsNotIn returns the words of a name that another name does not have.
func wordsNotIn(name, other string) string {
	has := strings.Fields(fold.Words(other))
	return strings.Join(slices.DeleteFunc(strings.Fields(name), func(word string) bool {
		parts := strings.Fields(fold.Words(word))
		return !slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(has, p) })
	}), " ")
}

// scriptOf returns the script of the first letter of a text.
func scriptOf(text string) string {
	for _, r := range text {
		for name, table := range unicode.Scripts {
			if unicode.IsLetter(r) && unicode.Is(table, r) {
				return name
			}
		}
	}
	return ""
}

// Compared returns concerns of the run with the hit of each one that asks for a reviewer first, and of those the closest
// one, with its list and its likeness.
func (r Run) Compared(concerns []Concern, p workflow.Program, about Subject) []Concern {
	concerns = slices.Clone(concerns)
	for i, c := range concerns {
		step, ok := r.Step(c.NodeID)
		if c.Hit == nil || !ok {
			continue
		}
		asked, said := r.askedNow(p, step)
		var first FoundHit
		var like Likeness
		for _, number := range step.screenedVisits() {
			visit, earlier := step.visit(number)
			for _, h := range visit.hits() {
				var l Likeness
				if earlier == 0 && said {
					l = LikenessOf(h.Hit, asked, about)
				}
				if first.ID == "" || cmp.Or(cmp.Compare(h.urgency(), first.urgency()), l.Compare(like), cmp.Compare(first.Score, h.Score)) < 0 {
					first, like = h, l
				}
			}
		}
		if first.ID != "" {
			concerns[i].Hit, concerns[i].List, concerns[i].Likeness = &first.Hit, first.List, &like
		}
	}
	return concerns
}

// askedNow returns what a check is asked now, which may be nothing, and whether the run still says it.
func (r Run) askedNow(p workflow.Program, step Step) (verification.Data, bool) {
	request, err := r.RequestAgain(p, "", step.Node)
	if err != nil || step.Gone {
		return nil, false
	}
	asked, err := verification.NewData(request.With)
	return asked, err == nil
}
