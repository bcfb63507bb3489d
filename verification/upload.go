// The uploads of a run: which file stands for a field, and which may be removed.

package verification

import (
	"slices"
	"time"
)

// MaxUploads is how many documents a customer may send during one wait, those
// that later ones replaced included.
const MaxUploads = 200

func (d *decision) upload(c Upload) error {
	w := d.run.Wait
	if w.Kind != WaitCustomer || w.Number != c.Wait {
		return notOpen("upload")
	}
	name := "payload." + c.Document.Field
	n, _ := d.program.Node(w.Node)
	if f, ok := n.Fields.ByName(c.Document.Field); !ok || !f.Upload() {
		return invalid("document", name, "does not take a file")
	}
	// A form that is posted twice brings the same files twice.
	for _, u := range w.Uploads {
		if u.Field == c.Document.Field && u.SHA256 == c.Document.SHA256 {
			return nil
		}
	}
	if w.Uploaded >= MaxUploads {
		return invalid("document", name, "too many files were sent for this step")
	}
	d.add(DocumentUploaded{
		Node: w.Node, Document: c.Document.ID, Field: c.Document.Field,
		MediaType: c.Document.MediaType, Size: c.Document.Size, SHA256: c.Document.SHA256,
	})
	return nil
}

// uploaded is the wait with one more document, which replaces the earlier one of
// its field.
func (w Wait) uploaded(f DocumentUploaded, at time.Time) Wait {
	d := Document{
		ID: f.Document, Field: f.Field, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256, CreatedAt: at,
	}
	w.Uploads = append(slices.DeleteFunc(slices.Clone(w.Uploads), func(u Document) bool { return u.Field == d.Field }), d)
	w.Uploaded++
	return w
}

// named lists the uploads of the wait that the data of its answer names.
func (w Wait) named(answer Data) (named []Document) {
	if len(w.Uploads) == 0 {
		return nil
	}
	values := answer.Map()
	for _, u := range w.Uploads {
		if documentID(values[u.Field]) == u.ID {
			named = append(named, u)
		}
	}
	return named
}

// upload finds a document that an answer may name for a field: the last one
// that was sent for it, or one that an earlier answer named.
func (r Run) upload(field, id string) (Document, bool) {
	for _, u := range slices.Concat(r.Wait.Uploads, r.Documents) {
		if u.Field == field && u.ID == id {
			return u, true
		}
	}
	return Document{}, false
}

// Dropped lists the documents that r could name and the later run cannot: those
// that were replaced, and those that the answer to their wait did not name. No
// answer names them any more, so they may be removed.
func (r Run) Dropped(later Run) (dropped []Document) {
	kept := slices.Concat(later.Wait.Uploads, later.Documents)
	for _, u := range r.Wait.Uploads {
		if !slices.ContainsFunc(kept, func(d Document) bool { return d.ID == u.ID }) {
			dropped = append(dropped, u)
		}
	}
	return dropped
}
