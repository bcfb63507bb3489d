// Lists of OFAC in the advanced XML.

package watchlist

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/birthdate"
)

// advanced has the parts of sdn_advanced.xml that its parties refer to. They come before the
// parties in the file.
type advanced struct {
	*filler
	labels    map[string]string   // of types of documents, features, parts of names and parties, and of countries
	locations map[string][]string // ids of countries
	documents map[string][]*node  // by the identity
}

// readAdvanced reads sdn_advanced.xml and cons_advanced.xml.
func readAdvanced(f *listFile) iter.Seq2[Entry, error] {
	a := &advanced{f.filler, map[string]string{}, map[string][]string{}, map[string][]*node{}}
	references := []string{"Country", "IDRegDocType", "FeatureType", "NamePartType", "PartyType", "PartySubType"}
	return readNodes(f, func(n *node) (Entry, bool) {
		switch n.name {
		case "DistinctParty":
			return a.entry(n), true
		case "Location":
			for _, c := range n.all("LocationCountry") {
				a.locations[n.attr("ID")] = append(a.locations[n.attr("ID")], c.attr("CountryID"))
			}
		case "IDRegDocument":
			id := n.attr("IdentityID")
			a.documents[id] = append(a.documents[id], n)
		default:
			a.labels[n.name+n.attr("ID")] = cmp.Or(n.attr("PartyTypeID"), n.text)
		}
		return Entry{}, false
	}, append(references, "Location", "IDRegDocument", "DistinctParty")...)
}

func (a *advanced) entry(n *node) Entry {
	profile := n.all("Profile")[:min(1, len(n.all("Profile")))]
	if len(profile) == 0 {
		return official(n.attr("FixedRef"), "")
	}
	p := profile[0]
	e := official(cmp.Or(n.attr("FixedRef"), p.attr("ID")), a.labels["PartyType"+a.labels["PartySubType"+p.attr("PartySubTypeID")]])
	for _, identity := range p.all("Identity") {
		a.names(&e, identity)
		for _, d := range a.documents[identity.attr("ID")] {
			a.labelled(&e, a.labels["IDRegDocType"+d.attr("IDRegDocTypeID")], d.get("IDRegistrationNo"))
		}
	}
	for _, feature := range n.below("Feature") {
		kind := a.labels["FeatureType"+feature.attr("FeatureTypeID")]
		for _, version := range feature.all("FeatureVersion") {
			switch kind {
			case "Birthdate":
				for _, period := range version.all("DatePeriod") {
					text, dates := dateOf(period)
					a.dated(&e, text, dates, dates != nil)
				}
			case "Nationality Country", "Citizenship Country", "Nationality of Registration":
				a.places(&e, version)
			case "Location":
				if e.Company {
					a.places(&e, version)
				}
			case "SWIFT/BIC", "BIK (RU)", "D-U-N-S Number":
				a.labelled(&e, kind, version.get("VersionDetail"))
			default:
				a.ignored("features/"+kind, e.ID, cmp.Or(version.get("VersionDetail"), "-"))
			}
		}
	}
	return e
}

// names adds the names of an identity. Parts of names of people are put into the order of
// first, middle and last name.
func (a *advanced) names(e *Entry, identity *node) {
	order := []string{"First Name", "Middle Name", "Patronymic", "Last Name", "Maiden Name", "Matronymic"}
	rank := map[string]int{}
	for _, group := range identity.all("NamePartGroups", "MasterNamePartGroup", "NamePartGroup") {
		rank[group.attr("ID")] = slices.Index(order, a.labels["NamePartType"+group.attr("NamePartTypeID")])
	}
	for _, alias := range identity.all("Alias") {
		for _, name := range alias.all("DocumentedName") {
			parts := name.all("DocumentedNamePart", "NamePartValue")
			if e.Person {
				slices.SortStableFunc(parts, func(x, y *node) int {
					return cmp.Compare(rank[x.attr("NamePartGroupID")], rank[y.attr("NamePartGroupID")])
				})
			}
			var words []string
			for _, part := range parts {
				words = append(words, part.text)
			}
			a.alias(e, strings.Join(words, " "), alias.attr("LowQuality") == "true")
		}
	}
}

// places adds the countries of a feature.
func (a *advanced) places(e *Entry, version *node) {
	ids := map[string]bool{}
	for _, l := range version.all("VersionLocation") {
		for _, id := range a.locations[l.attr("LocationID")] {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		a.country(e, a.labels["Country"+id])
	}
}

// dateOf returns what a period says, and the birth date; nil if it cannot be read.
func dateOf(period *node) (text string, dates []string) {
	day := func(path ...string) string {
		for _, n := range period.all(path...) {
			return ymd(n.get("Year"), n.get("Month"), n.get("Day"))
		}
		return ""
	}
	from := cmp.Or(day("Start", "From"), day("Start", "To"))
	to := cmp.Or(day("End", "To"), day("End", "From"), from)
	text = from + " to " + to
	if !birthdate.Is(from) || !birthdate.Is(to) || from > to {
		return text, nil
	}
	circa := false
	for _, n := range period.nodes {
		circa = circa || n.attr("Approximate") == "true"
	}
	return text, []string{approximate(span(from, to), circa)}
}
