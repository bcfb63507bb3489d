// Uploads: which documents a run has taken.

package rules

import (
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// MaxUploads is the maximum number of documents that a customer may send during
// one wait, including those that later ones replaced.
const MaxUploads = 200

func (d *decision) upload(c Upload) error {
	w := d.run.Wait()
	if w.Kind != WaitCustomer || w.Number != c.WaitNumber {
		return notOpen("upload")
	}
	name := "payload." + c.Document.Field
	n, _ := d.program.Node(w.Node)
	if f, ok := n.Fields.At(c.Document.Field); !ok || !f.Upload() {
		return verification.InvalidField("document", name, "does not take a file")
	}
	// A form that is posted twice sends the same files twice.
	for _, u := range w.Uploads {
		if u.Field == c.Document.Field && u.SHA256 == c.Document.SHA256 {
			return nil
		}
	}
	if w.Uploaded >= MaxUploads {
		return verification.InvalidField("document", name, "too many files were sent for this step")
	}
	d.add(DocumentUploaded{
		Node: w.Node, Document: c.Document.ID, Field: c.Document.Field,
		MediaType: c.Document.MediaType, Size: c.Document.Size, SHA256: c.Document.SHA256,
	})
	return nil
}

// fold adds a document to the wait, in place of an earlier one of its field.
func (f DocumentUploaded) fold(r *Run, at time.Time) {
	w := r.at(f.Node)
	d := verification.Document{
		ID: f.Document, Field: f.Field, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256, CreatedAt: at,
	}
	w.Uploads = append(slices.DeleteFunc(slices.Clone(w.Uploads), func(u verification.Document) bool { return u.Field == d.Field }), d)
	w.Uploaded++
}

// named returns the uploads of the wait that its answer names, each with its place in the answer: the row of an upload has
// another number if the customer removed a row before it.
func (w Wait) named(answer verification.Data) (named []verification.Document) {
	if len(w.Uploads) == 0 {
		return nil
	}
	values := answer.Map()
	for _, u := range w.Uploads {
		if u.ID == "" { // a redacted upload has no id
			continue
		}
		group, _, name := workflow.SplitPlace(u.Field)
		if group == "" && documentID(values[name]) == u.ID {
			named = append(named, u)
			continue
		}
		rows, _ := values[group].([]any)
		for i, row := range rows {
			if fields, _ := row.(map[string]any); documentID(fields[name]) == u.ID {
				u.Field = workflow.Place(group, i, name)
				named = append(named, u)
				break
			}
		}
	}
	return named
}

// upload returns a document that an answer may name at a place: the last one sent for it, or for the field in another row, or
// one that an earlier answer named.
func (r Run) upload(place, id string) (verification.Document, bool) {
	group, _, name := workflow.SplitPlace(place)
	for _, u := range slices.Concat(r.Wait().Uploads, r.Documents) {
		if of, _, field := workflow.SplitPlace(u.Field); of == group && field == name && u.ID == id {
			return u, true
		}
	}
	return verification.Document{}, false
}

// Dropped returns the uploads of the wait of r that are gone in later, which is a
// newer state of the run: they were replaced, or the answer did not name them. The
// caller may remove them.
func (r Run) Dropped(later Run) (dropped []verification.Document) {
	kept := slices.Concat(later.Wait().Uploads, later.Documents)
	for _, u := range r.Wait().Uploads {
		if !slices.ContainsFunc(kept, func(d verification.Document) bool { return d.ID == u.ID }) {
			dropped = append(dropped, u)
		}
	}
	return dropped
}

// UnusedDocuments returns the ids of the uploads in the history of r that no answer names, or can name any
// more.
func (r Run) UnusedDocuments(history []Event) (unused []string) {
	kept := slices.Concat(r.Wait().Uploads, r.Documents)
	for _, e := range history {
		f, ok := e.Fact.(DocumentUploaded)
		if ok && f.Document != "" && !slices.ContainsFunc(kept, func(d verification.Document) bool { return d.ID == f.Document }) {
			unused = append(unused, f.Document)
		}
	}
	return unused
}

// documentFacts is the entry of an upload in a step's data.
type documentFacts struct {
	DocumentID string `json:"document_id"`
	MediaType  string `json:"media_type"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
}

// factsOf returns the entries of uploads in a step's data, by field.
func factsOf(documents map[string]verification.Document) map[string]documentFacts {
	facts := make(map[string]documentFacts, len(documents))
	for field, d := range documents {
		facts[field] = documentFacts{DocumentID: d.ID, MediaType: d.MediaType, Size: d.Size, SHA256: d.SHA256}
	}
	return facts
}
