// What is known of a document, as it travels with the object.

package s3

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// recordKey names the user metadata with the record: JSON, in base64 because it
// travels in a header. It is spelled as headers are, and so comes back.
const recordKey = "Document"

// record is a verification.Document as it is kept.
type record struct {
	ID        string    `json:"id"`
	Field     string    `json:"field"`
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"`
	CreatedAt time.Time `json:"created_at"`
	Save      string    `json:"save"` // which call to SaveDocument it comes from
}

func recordOf(d verification.Document) record {
	return record{
		ID: d.ID, Field: d.Field, MediaType: d.MediaType, Size: d.Size, SHA256: d.SHA256, CreatedAt: d.CreatedAt,
	}
}

func (r record) document() verification.Document {
	return verification.Document{
		ID: r.ID, Field: r.Field, MediaType: r.MediaType, Size: r.Size, SHA256: r.SHA256, CreatedAt: r.CreatedAt,
	}
}

func (r record) metadata() (map[string]string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write what is known of it: %w", err)
	}
	return map[string]string{recordKey: base64.RawURLEncoding.EncodeToString(text)}, nil
}

func readRecord(metadata map[string]string) (record, error) {
	text, err := base64.RawURLEncoding.DecodeString(metadata[recordKey])
	if err == nil && len(text) == 0 {
		return record{}, errors.New("the object says nothing of its document")
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return record{}, fmt.Errorf("read what is known of it: %w", err)
	}
	return r, nil
}
