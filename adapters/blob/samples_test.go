package blob_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// somePDF returns a PDF of a size.
func somePDF(length int) []byte {
	const head, tail = "%PDF-1.7\n%", "\n%%EOF\n"
	return []byte(head + strings.Repeat("x", max(0, length-len(head)-len(tail))) + tail)
}

// someRun is run number n.
func someRun(n int) verification.RunRef {
	return verification.RunRef{
		Tenant: "a0000000-0000-7000-8000-000000000001",
		Run:    verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n)),
	}
}

// upload is number n of the documents.
func upload(n int) verification.Document {
	return verification.Document{
		ID: fmt.Sprintf("e0000000-0000-7000-8000-%012x", n), Field: "front", MediaType: "application/pdf",
		CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC),
	}
}

// refusal is the error of a reader whose content the sanitizer refuses.
func refusal() error {
	return &verification.Error{Kind: verification.ErrInvalid, Subject: "document", Message: "the PDF cannot be read"}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
