// The consolidated list of financial sanctions of the EU.

package watchlist

import (
	"cmp"
	"iter"
)

// readEU reads xmlFullSanctionsList_1_1.
func readEU(f *listFile) iter.Seq2[Entry, error] {
	return readNodes(f, func(n *node) (Entry, bool) {
		kind := ""
		for _, subject := range n.all("subjectType") {
			kind = cmp.Or(subject.attr("classificationCode"), subject.attr("code"))
		}
		e := official(cmp.Or(n.attr("euReferenceNumber"), n.attr("logicalId")), kind)
		for _, alias := range n.all("nameAlias") {
			parts := alias.attr("firstName") + " " + alias.attr("middleName") + " " + alias.attr("lastName")
			f.alias(&e, cmp.Or(alias.attr("wholeName"), parts), alias.attr("strong") == "false")
		}
		for _, born := range n.all("birthdate") {
			date := born.attr("birthdate")
			if from, to := born.attr("yearRangeFrom"), born.attr("yearRangeTo"); date == "" && from != "" && to != "" {
				date = from + " to " + to
			}
			date = cmp.Or(date, ymd(born.attr("year"), born.attr("monthOfYear"), born.attr("dayOfMonth")))
			if calendar := born.attr("calendarType"); calendar != "" && calendar != "GREGORIAN" && !unknown(date) {
				f.dated(&e, date+" ("+calendar+")", nil, false)
				continue
			}
			f.born(&e, date, born.attr("circa") == "true")
		}
		for _, c := range n.all("citizenship") {
			f.country(&e, cmp.Or(known(c.attr("countryIso2Code")), c.attr("countryDescription")))
		}
		if e.Company {
			for _, c := range n.all("address") {
				f.country(&e, cmp.Or(known(c.attr("countryIso2Code")), c.attr("countryDescription")))
			}
		}
		for _, id := range n.all("identification") {
			f.alias(&e, id.attr("nameOnDocument"), false)
			label := cmp.Or(id.attr("identificationTypeDescription"), id.attr("identificationTypeCode"))
			f.labelled(&e, label, cmp.Or(id.attr("latinNumber"), id.attr("number"), id.text))
		}
		return e, true
	}, "sanctionEntity")
}

// known returns a text, or nothing if it says that a value is not known.
func known(text string) string {
	if unknown(text) {
		return ""
	}
	return text
}
