// The clauses on uploaded documents.

package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/iotest"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func documents() []clause {
	const save, remove = "DocumentStore.SaveDocument: ", "DocumentStore.RemoveDocument: "
	return []clause{
		{"a document is returned as it was saved", "DocumentStore.Document, OpenDocument: a document without its content; its content", savedDocument},
		{"a document belongs to its run and tenant", "DocumentStore: a document of another run or tenant is ErrNotFound", documentsOfTwoRuns},
		{"an upload that fails is not stored", save + "if reading content fails or ctx ends, it stores nothing", failedUpload},
		{"a document is never replaced", save + "returns ErrConflict if the run has a document of that id", takenDocument},
		{"size and digest are those of the content", "Document.Size, Document.SHA256: of the stored content", digestOfContent},
		{"a save with a cancelled context stores nothing", save + "if reading content fails or ctx ends, it stores nothing", cancelledDocument},
		{"concurrent saves are all stored", save + "stores content", concurrentDocuments},
		{"a removed document is gone", remove + "removes a document", removedDocument},
		{"removing a document leaves the others", remove + "removes a document", removedAlone},
		{"removing an unknown document is no error", remove + "removing a document that does not exist is not an error", removedTwice},
		{"the documents of a run are removed together", "DocumentStore.RemoveDocuments: removes all documents of a run", removedTogether},
		{"a removed document frees its space", remove + "removes a document and frees its space", removedSpace},
	}
}

// saveDocument saves a document.
func (t *trial) saveDocument(r verification.RunRef, d verification.Document, content []byte) verification.Document {
	got, err := t.store.SaveDocument(t.ctx, r, d, bytes.NewReader(content))
	t.ok(fmt.Sprintf("SaveDocument of %d bytes", len(content)), err)
	return got
}

// content reads a document.
func (t *trial) content(r verification.RunRef, id string) []byte {
	f, err := t.store.OpenDocument(t.ctx, r, id)
	if t.ok("OpenDocument", err); err != nil {
		return nil
	}
	content, err := io.ReadAll(f)
	t.ok("reading a document", errors.Join(err, f.Close()))
	return content
}

// holdsDocument ends the clause unless the store has a document with a content.
func (t *trial) holdsDocument(r verification.RunRef, want verification.Document, content []byte) {
	if got := t.content(r, want.ID); !bytes.Equal(got, content) {
		t.failf("the document reads %.60q of %d bytes, want %.60q of %d", got, len(got), content, len(content))
	}
	got, err := t.store.Document(t.ctx, r, want.ID)
	t.ok("Document", err)
	same(t, "the document", got, want)
}

// lacksDocument ends the clause if the store has a document with an id.
func (t *trial) lacksDocument(r verification.RunRef, id string) {
	_, err := t.store.Document(t.ctx, r, id)
	t.refused("Document", err, verification.ErrNotFound)
	f, err := t.store.OpenDocument(t.ctx, r, id)
	if t.refused("OpenDocument", err, verification.ErrNotFound); err == nil {
		f.Close()
	}
}

// removeDocument removes a document.
func (t *trial) removeDocument(r verification.RunRef, id string) {
	t.ok("RemoveDocument", t.store.RemoveDocument(t.ctx, r, id))
}

func ourRun(n int) verification.RunRef { return verification.RunRef{Tenant: ours, Run: runID(n)} }

// upload returns document number n.
func upload(n int) verification.Document {
	return verification.Document{
		ID: fmt.Sprintf("e0000000-0000-7000-8000-%012x", n), Field: "front", MediaType: "application/pdf", CreatedAt: instant(time.Duration(n) * time.Second),
	}
}

func savedDocument(t *trial) {
	for n, length := range []int{0, 1, 1 << 20, verification.MaxDocumentBytes} {
		d := t.saveDocument(ourRun(1), upload(n), filler(length))
		want := upload(n)
		want.Size, want.SHA256 = d.Size, d.SHA256
		same(t, "what SaveDocument returns", d, want)
		t.holdsDocument(ourRun(1), d, filler(length))
	}
}

func documentsOfTwoRuns(t *trial) {
	mine := t.saveDocument(ourRun(1), upload(1), filler(10))
	for _, r := range []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}} {
		t.lacksDocument(r, mine.ID)
		// The same id is another document there.
		yours := t.saveDocument(r, upload(1), filler(100))
		t.holdsDocument(r, yours, filler(100))
	}
	t.holdsDocument(ourRun(1), mine, filler(10))
	for _, id := range []string{upload(2).ID, "", "..", "../" + mine.ID, mine.ID + "/", "no uuid", strings.Repeat("x", 5000)} {
		t.lacksDocument(ourRun(1), id)
	}
}

func failedUpload(t *trial) {
	for n, failure := range []error{errors.New("connection reset"), &verification.Error{Kind: verification.ErrInvalid, Subject: "document"}} {
		for _, received := range []int{0, 1, 100_000} {
			line := io.MultiReader(bytes.NewReader(filler(received)), iotest.ErrReader(failure))
			if _, err := t.store.SaveDocument(t.ctx, ourRun(1), upload(n), line); !errors.Is(err, failure) {
				t.failf("SaveDocument of content that fails after %d bytes: %v, want its error", received, err)
			}
			t.lacksDocument(ourRun(1), upload(n).ID)
		}
	}
}

func digestOfContent(t *trial) {
	for n, length := range []int{0, 1, 1 << 20} {
		d := t.saveDocument(ourRun(1), upload(n), filler(length))
		sum := sha256.Sum256(filler(length))
		same(t, "the size", d.Size, int64(length))
		same(t, "the digest", d.SHA256, hex.EncodeToString(sum[:]))
	}
}

func takenDocument(t *trial) {
	d := t.saveDocument(ourRun(1), upload(1), filler(100))
	_, err := t.store.SaveDocument(t.ctx, ourRun(1), upload(1), bytes.NewReader(filler(200)))
	t.refused("SaveDocument under an id that is taken", err, verification.ErrConflict)
	t.holdsDocument(ourRun(1), d, filler(100))
}

func cancelledDocument(t *trial) {
	if _, err := t.store.SaveDocument(cancelled(t.ctx), ourRun(1), upload(1), bytes.NewReader(filler(10))); err == nil {
		t.failf("SaveDocument with a cancelled context succeeded, want an error")
	}
	t.lacksDocument(ourRun(1), upload(1).ID)
	// It is cancelled while the content is read.
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	ending := readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "x"), nil
	})
	line := io.MultiReader(bytes.NewReader(filler(10)), io.LimitReader(ending, 1000), bytes.NewReader(filler(10)))
	if _, err := t.store.SaveDocument(ctx, ourRun(1), upload(1), line); err == nil {
		t.failf("SaveDocument with a context cancelled during the upload succeeded, want an error")
	}
	t.lacksDocument(ourRun(1), upload(1).ID)
}

func removedDocument(t *trial) {
	t.saveDocument(ourRun(1), upload(1), filler(1<<20))
	t.removeDocument(ourRun(1), upload(1).ID)
	t.lacksDocument(ourRun(1), upload(1).ID)
	d := t.saveDocument(ourRun(1), upload(1), filler(10))
	t.holdsDocument(ourRun(1), d, filler(10))
}

func removedAlone(t *trial) {
	d := t.saveDocument(ourRun(1), upload(1), filler(10))
	others := []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}}
	for _, r := range others {
		t.saveDocument(r, upload(1), filler(10))
	}
	beside := t.saveDocument(ourRun(1), upload(2), filler(100))
	t.removeDocument(ourRun(1), upload(1).ID)
	for _, r := range others {
		t.holdsDocument(r, d, filler(10))
	}
	t.holdsDocument(ourRun(1), beside, filler(100))
}

func removedTwice(t *trial) {
	t.saveDocument(ourRun(1), upload(1), filler(10))
	for range 2 {
		t.removeDocument(ourRun(1), upload(1).ID)
	}
	for _, id := range []string{upload(2).ID, "", "..", "../" + upload(2).ID, "no uuid"} {
		t.removeDocument(ourRun(1), id)
	}
}

func removedSpace(t *trial) {
	content := filler(verification.MaxDocumentBytes)
	for n := range 12 { // more than the capacity
		d := t.saveDocument(ourRun(n), upload(n), content)
		t.removeDocument(ourRun(n), d.ID)
	}
}

func concurrentDocuments(t *trial) {
	var saved [callers]verification.Document
	content := func(n int) []byte { return filler(100_000 + n) }
	errs := concurrently(func(n int) (err error) {
		saved[n], err = t.store.SaveDocument(t.ctx, ourRun(n/2), upload(n), bytes.NewReader(content(n)))
		return err
	})
	for n := range callers {
		t.ok("SaveDocument", errs[n])
		t.holdsDocument(ourRun(n/2), saved[n], content(n))
	}
}

// filler returns content of a length in bytes.
func filler(length int) []byte { return bytes.Repeat([]byte("x"), length) }

// readerFunc is a function as an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func removedTogether(t *trial) {
	content := []byte("content")
	other := t.saveDocument(ourRun(2), upload(1), content)
	elsewhere := verification.RunRef{Tenant: theirs, Run: runID(1)}
	foreign := t.saveDocument(elsewhere, upload(1), content)
	for n := range 3 {
		t.saveDocument(ourRun(1), upload(n+1), content)
	}
	for range 2 { // the second time, there is nothing to remove
		t.ok("RemoveDocuments", t.store.RemoveDocuments(t.ctx, ourRun(1)))
		for n := range 3 {
			t.lacksDocument(ourRun(1), upload(n+1).ID)
		}
	}
	t.ok("RemoveDocuments of an odd run", t.store.RemoveDocuments(t.ctx, verification.RunRef{Tenant: ours, Run: "../x"}))
	t.holdsDocument(ourRun(2), other, content)
	t.holdsDocument(elsewhere, foreign, content)
	t.holdsDocument(ourRun(1), t.saveDocument(ourRun(1), upload(1), content), content)
}
