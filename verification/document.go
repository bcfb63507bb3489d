// What a customer uploads.

package verification

import (
	"context"
	"io"
	"time"
)

// MaxDocumentBytes is the largest document, in bytes: 10 MiB.
const MaxDocumentBytes = 10 << 20

// Document is one uploaded file. It belongs to the run it was uploaded for.
type Document struct {
	ID        string // a lower-case UUID
	Field     string // the name of the input field it answers
	MediaType string // found from its content, never from its name
	Size      int64  // in bytes, as it is kept
	SHA256    string // of what is kept, in hexadecimal
	CreatedAt time.Time
}

// DocumentStore keeps uploaded documents apart by run and tenant. A document
// of another run is ErrNotFound.
type DocumentStore interface {
	// SaveDocument keeps what it reads from content, which is at most
	// MaxDocumentBytes long, and returns d with its MediaType, Size and SHA256
	// filled in. Content of a type that accept does not list (an empty accept
	// takes every type that is known), an image that cannot be decoded or is
	// out of bounds, or too much content is ErrInvalid, and nothing is kept.
	// What a JPEG says of where it was taken is removed. Memory stays bounded
	// whatever is sent. ErrUnavailable is returned when the store is full, or when
	// the tenant holds all that one tenant may.
	SaveDocument(ctx context.Context, r RunRef, d Document, accept []string, content io.Reader) (Document, error)
	// Document returns what is known of a document.
	Document(ctx context.Context, r RunRef, id string) (Document, error)
	// OpenDocument reads a document; the caller closes it.
	OpenDocument(ctx context.Context, r RunRef, id string) (io.ReadCloser, error)
	// RemoveDocument removes a document and frees the space that it takes. It is
	// gone or it is whole, also after a crash. A document that the run does not
	// have is no error.
	RemoveDocument(ctx context.Context, r RunRef, id string) error
}

// documentFacts is what a step's data says of an upload.
type documentFacts struct {
	DocumentID string `json:"document_id"`
	MediaType  string `json:"media_type"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
}

// factsOf is what a step's data says of its uploads, by field.
func factsOf(documents map[string]Document) map[string]documentFacts {
	facts := make(map[string]documentFacts, len(documents))
	for field, d := range documents {
		facts[field] = documentFacts{DocumentID: d.ID, MediaType: d.MediaType, Size: d.Size, SHA256: d.SHA256}
	}
	return facts
}
