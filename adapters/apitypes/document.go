// Documents.

package apitypes

import "github.com/verifyd/verifyd/verification"

// Document is an uploaded file. The data of a step has it without its field.
type Document struct {
	DocumentID string `json:"document_id"`
	Field      string `json:"field"`
	MediaType  string `json:"media_type"`
	Size       int64  `json:"size"` // of the stored content, in bytes
	SHA256     string `json:"sha256"`
}

// NewDocument converts a document.
func NewDocument(d verification.Document) Document {
	return Document{DocumentID: d.ID, Field: d.Field, MediaType: d.MediaType, Size: d.Size, SHA256: d.SHA256}
}
