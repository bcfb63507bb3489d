// The steps of a run as cards: their data and their documents.

package runpage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// cardView is one step on the run page.
type cardView struct {
	Node   verification.NodeID
	Label  string
	Type   string
	Badge  web.Badge
	Reason string
	At     shell.Instant // when the step was completed; when it started if it is not
	cardData
	// Visits are the earlier visits of the step, the newest first. Visited says how many there
	// were, and Hidden how many are left out; both are empty for none.
	Visits          []visitView
	Visited, Hidden string
	Line            string     // the first values in one line
	Round           *roundView // that asked about this answer, and has none yet
	Why             string     // why the source was asked after another one
	Open            bool       // its line under a group is open
	Hits            []hitView
	Judged          []verdictView // the decisions on hits that were removed
	Cleared         []clearedView
	AllValues       string // the title of the values beside the hits
	AllHits         string // the text of the link to the hits
	Asked           dataTable
	AskedTitle      string
	Faces           *facesView // of a check that was asked about pictures; nil for none

	of     workflow.NodeType
	status rules.CardStatus
	look   bool // a person should look at it
}

// allHits returns the hits of all visits.
func (v *cardView) allHits() (all []*hitView) {
	for i := range v.Hits {
		all = append(all, &v.Hits[i])
	}
	for i := range v.Visits {
		for k := range v.Visits[i].Hits {
			all = append(all, &v.Visits[i].Hits[k])
		}
	}
	return all
}

// withoutHits leaves out the sentences that say no more than that there are hits.
func withoutHits(all []rules.Sentence) []rules.Sentence {
	return slices.DeleteFunc(slices.Clone(all), func(one rules.Sentence) bool {
		return one.Key == string(rules.CauseHit) || one.Key == string(rules.CauseRescreened)
	})
}

// withoutBadge leaves out the sentence that says what the badge of a failed check does, unless the provider has words for it.
func withoutBadge(s shell.Session, all []rules.Sentence) []rules.Sentence {
	return slices.DeleteFunc(slices.Clone(all), func(one rules.Sentence) bool { return one.Worded(s.Describe).Key == "not_passed" })
}

// cardData is what a step recorded on one visit.
type cardData struct {
	Documents []documentView
	Table     dataTable
	Found     dataTable // what a source found that could not tell
	FoundText string    // the title of Found
	More      string    // says how many values are left out; empty for none
	Corrected []string  // the corrections of values that the table does not show
}

// visitView is an earlier visit of a step.
type visitView struct {
	Title  string
	Badge  web.Badge
	Reason string
	At     shell.Instant
	Open   bool // it has a reason
	Hits   []hitView
	cardData
	AllValues string     // the title of the values below the hits
	Round     *roundView // that asked about the answer of the visit
}

// documentView is an uploaded file on the run page.
type documentView struct {
	ID      string
	URL     string
	Label   string
	Image   bool
	Picture string // the URL of what is shown: the image, or the first page of a PDF; empty for none
	Page    string // says that Picture is the first page; empty for an image
	Undrawn string // says that there is no Picture after all; empty for an image
	Face    bool   // it shows the customer
	Kind    string // such as JPEG, 120 KB
	Place   string // of its field in the form
}

// cards returns the cards of a run.
func (p *Pages) cards(s shell.Session, rec desk.RunRecord) (all []cardView) {
	asked := askedOf(rec)
	for _, card := range rec.Report.Cards {
		v := cardView{
			Node: card.NodeID, Label: card.Label, Type: s.Say("type." + string(card.Type)), Badge: cardBadge(s, card.Status),
			Reason: s.Sentences(withoutBadge(s, card.Sentences)), At: s.At(card.StartedAt),
		}
		if card.Gone && card.Status == rules.CardOK {
			v.Badge = web.Badge{Text: s.Say("card.earlier")}
		}
		if !card.CompletedAt.IsZero() {
			v.At = s.At(card.CompletedAt)
		}
		v.of, v.status, v.look = card.Type, card.Status, card.Type != workflow.NodeReview && card.Status != rules.CardOK
		v.Hits, v.Cleared = hitsOf(s, rec, string(card.NodeID), card.Hits(), asked[card.NodeID].With), clearedOf(s, rec, card)
		v.cardData = p.dataOf(s, rec, card, card.Data, card.Found)
		v.Corrected, v.Line = v.Table.corrected(s, card.Corrections), v.Table.line()
		v.AllValues, v.AllHits, v.AskedTitle = s.Say("card.values"), s.Say("card.hits.link"), s.Say("card.asked")
		if a, ok := asked[card.NodeID]; ok && !rec.Hidden {
			v.Asked = tableOf(a.With, a.Schema, nil, s.Message)
		}
		rounds := roundsOf(s, rec, card)
		v.Round = rounds[card.VisitCount()]
		v.Judged = judgedOf(s, rec, card.NodeID)
		if hits := len(card.Hits()); hits > 0 && v.Reason != "" {
			v.Reason = strings.TrimSpace(s.Count("card.hits", hits) + ". " + s.Sentences(withoutHits(card.Sentences)))
			if found := card.Screening; found != nil && found.Total > len(found.Hits) {
				key := "card.hits.total"
				if rec.Hidden {
					key = "card.hits.redacted"
				}
				v.Reason += " " + s.Say(key, found.Total, len(found.Hits))
			}
		}
		for _, visit := range slices.Backward(card.Visits) {
			title := s.Say("card.visit", visit.Number)
			data := p.dataOf(s, rec, card, visit.Data, visit.Found)
			for i := range data.Documents {
				data.Documents[i].Label += " · " + title
			}
			badge := cardBadge(s, visit.Status)
			if why := card.Lacks(visit); why != "" {
				badge = answerBadge(s, why, 0)
			}
			address := rules.VisitAddress(card.NodeID, visit.Number)
			hits := hitsOf(s, rec, address, visit.Hits(), rec.AskedBefore[address])
			for i := range hits {
				hits[i].Visit = title
			}
			v.Visits = append(v.Visits, visitView{
				Hits: hits, AllValues: v.AllValues,
				Title: title, Badge: badge, Reason: s.Sentences(visit.Sentences),
				At: s.At(visit.CompletedAt), Open: visit.Reason != "", cardData: data, Round: rounds[visit.Number],
			})
		}
		if n := len(card.Visits) + card.VisitsOmitted; card.Gone {
			v.Visited = s.Say("card.visits.gone")
		} else if n > 0 {
			v.Visited = s.Count("card.visits", n)
		}
		if card.VisitsOmitted > 0 {
			v.Hidden = s.Count("card.visits.hidden", card.VisitsOmitted)
		}
		all = append(all, v)
	}
	addFaces(s, rec, all)
	return all
}

// dataOf returns what a step recorded on one visit, and what a source found then that could not tell.
func (p *Pages) dataOf(s shell.Session, rec desk.RunRecord, card rules.Card, data, found verification.Data) (v cardData) {
	n, _ := rec.Definition.Node(card.NodeID)
	form, hidden := n.Fields, map[string]bool{"source_ok": true, "analysis_ok": true, "no_answer": true} // the sentences say it
	show := func(place string, f workflow.InputField, value any) {
		if d, ok := documentOf(value, rec.Documents); ok && f.Upload() {
			hidden[place], hidden["documents"] = true, true
			shown := p.documentViewOf(s, rec.Report.Run.ID, d, cmp.Or(form.LabelAt(place, s.Lang()), labels.InWords(f.Name)))
			shown.Place, shown.Face = place, f.Camera == workflow.CameraFront || d.ID == rec.Subject.Portrait
			v.Documents = append(v.Documents, shown)
		}
	}
	values := data.Map()
	for _, f := range form {
		show(f.Name, f, values[f.Name])
		rows, _ := values[f.Name].([]any)
		for i, row := range rows {
			for _, inRow := range f.Fields {
				fields, _ := row.(map[string]any)
				show(workflow.Place(f.Name, i, inRow.Name), inRow, fields[inRow.Name])
			}
		}
	}
	v.Table = tableOf(data, workflow.MergeSchemas(form.DataSchema(s.Lang()), card.DataSchema), hidden, s.Message)
	v.Found, v.FoundText = tableOf(found, card.DataSchema, nil, s.Message), s.Say("card.found")
	if v.Table.More > 0 {
		v.More = s.Say("data.more", v.Table.More)
	}
	return v
}

// documentOf returns the document that an answer names.
func documentOf(answer any, documents []verification.Document) (verification.Document, bool) {
	value, _ := answer.(map[string]any)
	id, _ := value["document_id"].(string)
	i := slices.IndexFunc(documents, func(d verification.Document) bool { return d.ID == strings.ToLower(id) })
	if i < 0 {
		return verification.Document{}, false
	}
	return documents[i], true
}

func (p *Pages) documentViewOf(s shell.Session, run verification.RunID, d verification.Document, label string) documentView {
	kind := strings.ToUpper(d.MediaType[strings.LastIndexByte(d.MediaType, '/')+1:])
	v := documentView{
		ID: d.ID, URL: s.Base + "/runs/" + string(run) + "/documents/" + d.ID, Label: label,
		Image: isImage(d.MediaType), Kind: kind + ", " + fileSize(s, d.Size),
	}
	switch {
	case v.Image:
		v.Picture = v.URL
	case p.DrawPage != nil && d.MediaType == mediaPDF:
		v.Picture, v.Page, v.Undrawn = v.URL+"/page", s.Say("document.page"), s.Say("document.undrawn")
	}
	return v
}

// fileSize returns a size in KB, or in MB from 1 MB.
func fileSize(s shell.Session, bytes int64) string {
	const kb, mb = 1 << 10, 1 << 20
	if bytes >= mb {
		return s.Say("size.mb", float64(bytes)/mb)
	}
	return s.Say("size.kb", max(bytes/kb, 1))
}

func cardBadge(s shell.Session, status rules.CardStatus) web.Badge {
	switch status {
	case rules.CardOK:
		return web.Badge{Tone: web.Good, Icon: "tick", Text: s.Say("card.ok")}
	case rules.CardFailed:
		return web.Badge{Tone: web.Bad, Icon: "cross", Text: s.Say("card.failed")}
	case rules.CardNeedsReview:
		return web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Say("card.needs_review")}
	}
	return web.Badge{Text: string(status)}
}
