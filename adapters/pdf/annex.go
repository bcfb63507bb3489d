// The documents, and the annex of ids and hashes.

package pdf

import (
	"context"
	"fmt"

	"github.com/johnfercher/maroto/v2/pkg/core"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
)

// documentSections is a card for each document, with its picture. It checks the context
// between documents.
func (l *layout) documentSections(ctx context.Context, all []report.Document) ([]section, error) {
	var sections []section
	if len(all) > 0 {
		heading := l.sectionHeading("Documents")
		sections = append(sections, section{blocks: []block{heading}})
	}
	for i, d := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == limitCards {
			sections = append(sections, l.note(fmt.Sprintf("%s more documents are not printed here.", typeset.Thousands(len(all)-i))))
			break
		}
		sections = append(sections, l.documentCard(ctx, i+1, d))
	}
	return sections, nil
}

// documentCard is a picture beside what is known of a document.
func (l *layout) documentCard(ctx context.Context, n int, d report.Document) section {
	const gap, top = 5.0, 2.0
	t := toneNeutral()
	label := d.Label
	if label == "" {
		label = labels.InWords(d.Field)
	}
	facts := [][2]string{
		{"File", typeOf(d.Document) + ", " + sizeOf(d.Document)}, {"Received", l.time(d.CreatedAt)}, {"SHA-256", d.SHA256},
	}
	picture, err := l.pictures.document(ctx, d)
	left := picture.width + gap
	if err != nil {
		left = 0
		if kind, ok := verification.FileTypeOf(d.MediaType); ok && kind.Image() {
			facts = append(facts, [2]string{"Picture", "It is not printed: it is not at hand, it is too large, or it cannot be read."})
		}
	}
	var parts []core.Component
	bottom := 0.0
	if err == nil {
		picture.top, bottom = top, top+picture.height
		parts = append(parts, picture)
	}
	at := top - 0.6
	for _, f := range facts {
		more, end := l.fact(f[0], f[1], left, at, cardWidth-left)
		parts, at = append(parts, more...), end+1.2
	}
	body := []block{cardRow(t, max(bottom, at)+1.5, column(cardWidth, parts...))}
	return l.framed(0, fmt.Sprintf("Document %d: %s", n, label), "", t, body)
}

// annex has the ids and hashes, for whoever looks for the run in the service.
func (l *layout) annex(r report.Print) []section {
	t := toneNeutral()
	var body []block
	add := func(key, value string) {
		if value != "" {
			body = append(body, l.cardEntry(entry{key: key, value: value}, t, limitName)...)
		}
	}
	add("Run", string(r.Run.ID))
	add("Workflow", string(r.Workflow.ID))
	add("Workflow version", fmt.Sprint(r.Workflow.Version))
	add("Hash of the version", r.Workflow.VersionHash)
	for i, d := range r.Documents {
		add(fmt.Sprintf("Document %d", i+1), d.ID)
	}
	if len(r.Cards) > 0 {
		steps := &table{columns: []string{"Step", "Node", "Type", "Key", "Requests"}}
		for i, c := range r.Cards[:min(len(r.Cards), limitCards)] {
			requests := ""
			if c.Dispatches > 0 {
				requests = fmt.Sprint(c.Dispatches)
			}
			steps.rows = append(steps.rows, []string{
				fmt.Sprint(i + 1), string(c.NodeID), typeName(c.Type), c.Key, requests,
			})
		}
		more := 0
		l.linesLeft += limitCards // beside the data
		body = attach(body, l.cardTable(entry{key: "Steps", table: steps}, t, &more))
	}
	for _, c := range r.Cards {
		if v := r.Sources[c.NodeID].ListVersion; v != "" {
			add("Version of the list "+r.Sources[c.NodeID].List, v)
		}
	}
	return []section{{blocks: []block{l.sectionHeading("Annex")}}, l.framed(0, "Technical details", "", t, body)}
}
