// The consolidated list of the UN Security Council.

package watchlist

import (
	"cmp"
	"iter"
	"strings"
)

// readUN reads consolidated.xml.
func readUN(f *listFile) iter.Seq2[Entry, error] {
	return readNodes(f, func(n *node) (Entry, bool) {
		e := official(cmp.Or(n.get("REFERENCE_NUMBER"), n.get("DATAID")), strings.ToLower(n.name))
		f.alias(&e, n.joined("FIRST_NAME", "SECOND_NAME", "THIRD_NAME", "FOURTH_NAME"), false)
		for original := range strings.SplitSeq(n.get("NAME_ORIGINAL_SCRIPT"), ";") {
			f.alias(&e, original, false)
		}
		for _, alias := range n.all(n.name + "_ALIAS") {
			weak := strings.EqualFold(alias.get("QUALITY"), "low")
			for name := range strings.SplitSeq(alias.get("ALIAS_NAME"), ";") {
				f.alias(&e, name, weak)
			}
			f.born(&e, alias.get("DATE_OF_BIRTH"), false)
			f.born(&e, bornIn(alias.get("NOTE")), false)
		}
		for _, born := range n.all("INDIVIDUAL_DATE_OF_BIRTH") {
			text, note := cmp.Or(born.get("DATE"), born.get("YEAR")), born.get("NOTE")
			if from := born.get("FROM_YEAR"); from != "" {
				text = from + " to " + cmp.Or(born.get("TO_YEAR"), from)
			}
			circa := strings.HasPrefix(strings.ToUpper(born.get("TYPE_OF_DATE")), "APPROX")
			digits := strings.ContainsAny(note, "0123456789")
			if text != "" && !digits && remarkOf(strings.ToLower(note)) == remarkCalendar {
				text += " (" + note + ")"
			}
			f.born(&e, text, circa)
			if digits {
				f.born(&e, note, circa)
			}
		}
		for _, country := range n.all("NATIONALITY", "VALUE") {
			f.country(&e, country.text)
		}
		if e.Company {
			for _, country := range n.all("ENTITY_ADDRESS", "COUNTRY") {
				f.country(&e, country.text)
			}
		}
		for _, document := range n.all("INDIVIDUAL_DOCUMENT") {
			f.labelled(&e, document.get("TYPE_OF_DOCUMENT")+" "+document.get("TYPE_OF_DOCUMENT2"), document.get("NUMBER"))
		}
		return e, true
	}, "INDIVIDUAL", "ENTITY")
}

// bornIn returns what a note says after "born" or "date of birth", if it has a digit.
func bornIn(note string) string {
	note = strings.ToLower(note)
	for _, word := range []string{"date of birth", "born"} {
		if _, date, ok := strings.Cut(note, word); ok && strings.ContainsAny(date, "0123456789") {
			return strings.TrimPrefix(strings.TrimLeft(date, " :."), "in ")
		}
	}
	return ""
}
