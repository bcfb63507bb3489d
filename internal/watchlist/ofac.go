// Lists of OFAC in the classic and the enhanced XML.

package watchlist

import (
	"iter"

	"github.com/verifyd/verifyd/internal/birthdate"
)

// readSDN reads sdn.xml, and consolidated.xml of the same schema.
func readSDN(f *listFile) iter.Seq2[Entry, error] {
	return readNodes(f, func(n *node) (Entry, bool) {
		e := official(n.get("uid"), n.get("sdnType"))
		f.alias(&e, n.joined("firstName", "lastName"), false)
		for _, aka := range n.all("akaList", "aka") {
			f.alias(&e, aka.joined("firstName", "lastName"), aka.get("category") == "weak")
		}
		for _, born := range n.all("dateOfBirthList", "dateOfBirthItem") {
			f.born(&e, born.get("dateOfBirth"), false)
		}
		for _, id := range n.all("idList", "id") {
			f.labelled(&e, id.get("idType"), id.get("idNumber"))
		}
		countries := append(n.all("nationalityList", "nationality", "country"), n.all("citizenshipList", "citizenship", "country")...)
		if e.Company {
			countries = append(countries, n.all("addressList", "address", "country")...)
		}
		for _, country := range countries {
			f.country(&e, country.text)
		}
		return e, true
	}, "sdnEntry")
}

// official returns an entry of an official list that says the kind of its entries as
// individual or entity. Other kinds, such as ships, are neither person nor company.
func official(id, kind string) Entry {
	e := Entry{ID: id, Topics: []string{topicSanction}}
	switch kind {
	case "Individual", "individual", "person", "P":
		e.Person = true
	case "Entity", "entity", "enterprise", "E":
		e.Company = true
	}
	return e
}

// readEnhanced reads SDN_ENHANCED.XML and CONS_ENHANCED.XML.
func readEnhanced(f *listFile) iter.Seq2[Entry, error] {
	return readNodes(f, func(n *node) (Entry, bool) {
		if n.name != "entity" { // an entry of referenceValues or another part
			return Entry{}, false
		}
		e := official(n.attr("id"), n.get("generalInfo", "entityType"))
		for _, name := range n.all("names", "name") {
			for _, t := range name.all("translations", "translation") {
				f.alias(&e, t.joined("formattedFirstName", "formattedLastName"), name.get("isLowQuality") == "true")
			}
		}
		for _, feature := range n.all("features", "feature") {
			switch kind := feature.get("type"); kind {
			case "Birthdate":
				circa := feature.get("valueDate", "isApproximate") == "true"
				if from, to := feature.get("valueDate", "fromDateBegin"), feature.get("valueDate", "toDateEnd"); birthdate.Is(from) && birthdate.Is(to) {
					f.dated(&e, feature.get("value"), []string{approximate(span(from, to), circa)}, true)
				} else {
					f.born(&e, feature.get("value"), circa)
				}
			case "Nationality Country", "Citizenship Country", "Nationality of Registration":
				f.country(&e, feature.get("value"))
			case "SWIFT/BIC", "BIK (RU)", "D-U-N-S Number":
				f.labelled(&e, kind, feature.get("value"))
			default:
				f.ignored("features/"+kind, e.ID, feature.get("value"))
			}
		}
		for _, id := range n.all("identityDocuments", "identityDocument") {
			f.labelled(&e, id.get("type"), id.get("documentNumber"))
		}
		if e.Company {
			for _, country := range n.all("addresses", "address", "country") {
				f.country(&e, country.text)
			}
		}
		return e, true
	}, "entity", "referenceValue")
}

// approximate marks a birth date that the list calls approximate. A range needs no mark.
func approximate(date string, circa bool) string {
	if circa && birthdate.Is(date) {
		return "~" + date
	}
	return date
}
