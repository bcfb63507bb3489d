// Documents: the files that customers upload.

package verification

import (
	"fmt"
	"time"
)

// MaxDocumentBytes is the maximum size of a document: 10 MiB.
const MaxDocumentBytes = 10 << 20

// Document is one uploaded file of a run. Its JSON is what document stores keep
// beside the content.
type Document struct {
	ID        string    `json:"id"`         // a lower-case UUID
	Field     string    `json:"field"`      // the name of the input field it answers
	MediaType string    `json:"media_type"` // detected from the content
	Size      int64     `json:"size"`       // of the stored content, in bytes
	SHA256    string    `json:"sha256"`     // of the stored content, in hexadecimal
	CreatedAt time.Time `json:"created_at"`
}

// DocumentPath returns TENANT/RUN/DOCUMENT in lower case, the path under which a
// store keeps a document. An id that is not a UUID is an internal error.
func DocumentPath(r RunRef, id string) (string, error) {
	tenant, err1 := ParseTenantID(string(r.Tenant))
	run, err2 := ParseRunID(string(r.Run))
	document, err3 := ParseDocumentID(id)
	if err1 != nil || err2 != nil || err3 != nil {
		return "", fmt.Errorf("document %q of run %q of tenant %q: an id is not a UUID", id, r.Run, r.Tenant)
	}
	return string(tenant) + "/" + string(run) + "/" + document, nil
}

// ParseDocumentID parses the UUID of a document in its 36-character form, in either case.
func ParseDocumentID(s string) (string, error) { return parseUUID("document", s) }
