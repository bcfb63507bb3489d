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
	"testing"
	"testing/iotest"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// DocumentClause is one promise of a verification.DocumentStore.
type DocumentClause struct {
	// Name is what holds, as a sentence.
	Name string
	// Promise is where it is promised: the method, and the gist of its words.
	Promise string
	// Check tries the promise on an empty store. It returns what was seen and
	// what was wanted, or nil.
	Check func(ctx context.Context, s verification.DocumentStore) error
}

// RunDocuments tries every clause on documents as a subtest, each on a store of
// its own. fresh makes an empty store with room for 100 MiB and cleans up
// through its t.
func RunDocuments(t *testing.T, fresh func(t *testing.T) verification.DocumentStore) {
	t.Helper()
	for _, c := range Documents() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t.Context(), fresh(t)); err != nil {
				t.Errorf("%v\npromised by %s", err, c.Promise)
			}
		})
	}
}

// Documents are the clauses on what customers upload.
func Documents() []DocumentClause {
	const save, remove = "DocumentStore.SaveDocument: ", "DocumentStore.RemoveDocument: "
	return []DocumentClause{
		document("a document comes back as it was saved",
			"DocumentStore.Document, OpenDocument: a document without its content; its content", savedDocument),
		document("a document belongs to its run and tenant",
			"DocumentStore: a document of another run is ErrNotFound", documentsApart),
		document("an upload that breaks off is not stored",
			save+"after an error of content nothing is stored", brokenUpload),
		document("a document is never replaced",
			save+"ErrConflict is returned when the run has a document of that id", takenDocument),
		document("size and digest are those of the content",
			"Document.Size, Document.SHA256: of the stored content", keptDigest),
		document("a save whose context is over keeps nothing",
			save+"after an error of an ended ctx nothing is stored", cancelledDocument),
		document("documents saved at once are all kept",
			save+"stores content", documentsMeet),
		document("a removed document is gone",
			remove+"removes a document", removedDocument),
		document("removing a document leaves all others",
			remove+"removes a document", removedAlone),
		document("removing what is not there is no error",
			remove+"a document that the run does not have is no error", removedTwice),
		document("a removed document frees its space",
			remove+"frees the space that it takes", removedSpace),
	}
}

// documentTrial is a trial of a store of documents.
type documentTrial struct {
	*trial
	docs verification.DocumentStore
}

func document(name, promise string, check func(documentTrial)) DocumentClause {
	return DocumentClause{name, promise, func(ctx context.Context, s verification.DocumentStore) error {
		t := documentTrial{&trial{ctx: ctx}, s}
		check(t)
		return t.fault
	}}
}

// keep saves a document and wants it to be taken.
func (t documentTrial) keep(r verification.RunRef, d verification.Document, content []byte) verification.Document {
	if t.over() {
		return d
	}
	got, err := t.docs.SaveDocument(t.ctx, r, d, bytes.NewReader(content))
	t.ok(fmt.Sprintf("SaveDocument of %d bytes", len(content)), err)
	return got
}

// kept reads a document.
func (t documentTrial) kept(r verification.RunRef, id string) []byte {
	if t.over() {
		return nil
	}
	f, err := t.docs.OpenDocument(t.ctx, r, id)
	if t.ok("OpenDocument", err); err != nil {
		return nil
	}
	content, err := io.ReadAll(f)
	t.ok("reading a document", errors.Join(err, f.Close()))
	return content
}

// holds wants the store to have a document.
func (t documentTrial) holds(r verification.RunRef, want verification.Document, content []byte) {
	if got := t.kept(r, want.ID); !bytes.Equal(got, content) {
		t.faultf("the document reads %.60q of %d bytes, want %.60q of %d", got, len(got), content, len(content))
	}
	if !t.over() {
		got, err := t.docs.Document(t.ctx, r, want.ID)
		t.ok("Document", err)
		same(t.trial, "the document", got, want)
	}
}

// lacks wants the store to have no document of an id.
func (t documentTrial) lacks(r verification.RunRef, id string) {
	if t.over() {
		return
	}
	_, err := t.docs.Document(t.ctx, r, id)
	t.refused("Document", err, verification.ErrNotFound)
	f, err := t.docs.OpenDocument(t.ctx, r, id)
	if t.refused("OpenDocument", err, verification.ErrNotFound); err == nil {
		f.Close()
	}
}

// remove removes a document and wants no error.
func (t documentTrial) remove(r verification.RunRef, id string) {
	if !t.over() {
		t.ok("RemoveDocument", t.docs.RemoveDocument(t.ctx, r, id))
	}
}

func ourRun(n int) verification.RunRef { return verification.RunRef{Tenant: ours, Run: runID(n)} }

// upload is number n of the documents that are saved.
func upload(n int) verification.Document {
	return verification.Document{
		ID: fmt.Sprintf("e0000000-0000-7000-8000-%012x", n), Field: "front", MediaType: "application/pdf", CreatedAt: moment(time.Duration(n) * time.Second),
	}
}

func savedDocument(t documentTrial) {
	for n, length := range []int{0, 1, 1 << 20, verification.MaxDocumentBytes} {
		d := t.keep(ourRun(1), upload(n), filler(length))
		want := upload(n)
		want.Size, want.SHA256 = d.Size, d.SHA256
		same(t.trial, "what SaveDocument returns", d, want)
		t.holds(ourRun(1), d, filler(length))
	}
}

func documentsApart(t documentTrial) {
	mine := t.keep(ourRun(1), upload(1), filler(10))
	for _, r := range []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}} {
		t.lacks(r, mine.ID)
		// What they have under the same id is theirs.
		yours := t.keep(r, upload(1), filler(100))
		t.holds(r, yours, filler(100))
	}
	t.holds(ourRun(1), mine, filler(10))
	for _, id := range []string{upload(2).ID, "", "..", "../" + mine.ID, mine.ID + "/", "no uuid", strings.Repeat("x", 5000)} {
		t.lacks(ourRun(1), id)
	}
}

func brokenUpload(t documentTrial) {
	for n, broken := range []error{errors.New("the line broke"), &verification.Error{Kind: verification.ErrInvalid, Subject: "document"}} {
		for _, received := range []int{0, 1, 100_000} {
			if t.over() {
				return
			}
			line := io.MultiReader(bytes.NewReader(filler(received)), iotest.ErrReader(broken))
			if _, err := t.docs.SaveDocument(t.ctx, ourRun(1), upload(n), line); !errors.Is(err, broken) {
				t.faultf("SaveDocument of content that fails after %d bytes: %v, want its error", received, err)
			}
			t.lacks(ourRun(1), upload(n).ID)
		}
	}
}

func keptDigest(t documentTrial) {
	for n, length := range []int{0, 1, 1 << 20} {
		d := t.keep(ourRun(1), upload(n), filler(length))
		sum := sha256.Sum256(filler(length))
		same(t.trial, "the size", d.Size, int64(length))
		same(t.trial, "the digest", d.SHA256, hex.EncodeToString(sum[:]))
	}
}

func takenDocument(t documentTrial) {
	d := t.keep(ourRun(1), upload(1), filler(100))
	_, err := t.docs.SaveDocument(t.ctx, ourRun(1), upload(1), bytes.NewReader(filler(200)))
	t.refused("SaveDocument under an id that is taken", err, verification.ErrConflict)
	t.holds(ourRun(1), d, filler(100))
}

func cancelledDocument(t documentTrial) {
	if _, err := t.docs.SaveDocument(cancelled(t.ctx), ourRun(1), upload(1), bytes.NewReader(filler(10))); err == nil {
		t.faultf("SaveDocument under a context that is over succeeded, want an error")
	}
	t.lacks(ourRun(1), upload(1).ID)
	// It ends while the content comes.
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	ending := readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "x"), nil
	})
	line := io.MultiReader(bytes.NewReader(filler(10)), io.LimitReader(ending, 1000), bytes.NewReader(filler(10)))
	if _, err := t.docs.SaveDocument(ctx, ourRun(1), upload(1), line); err == nil {
		t.faultf("SaveDocument under a context that ends succeeded, want an error")
	}
	t.lacks(ourRun(1), upload(1).ID)
}

func removedDocument(t documentTrial) {
	t.keep(ourRun(1), upload(1), filler(1<<20))
	t.remove(ourRun(1), upload(1).ID)
	t.lacks(ourRun(1), upload(1).ID)
	d := t.keep(ourRun(1), upload(1), filler(10))
	t.holds(ourRun(1), d, filler(10))
}

func removedAlone(t documentTrial) {
	d := t.keep(ourRun(1), upload(1), filler(10))
	others := []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}}
	for _, r := range others {
		t.keep(r, upload(1), filler(10))
	}
	beside := t.keep(ourRun(1), upload(2), filler(100))
	t.remove(ourRun(1), upload(1).ID)
	for _, r := range others {
		t.holds(r, d, filler(10))
	}
	t.holds(ourRun(1), beside, filler(100))
}

func removedTwice(t documentTrial) {
	t.keep(ourRun(1), upload(1), filler(10))
	for range 2 {
		t.remove(ourRun(1), upload(1).ID)
	}
	for _, id := range []string{upload(2).ID, "", "..", "../" + upload(2).ID, "no uuid"} {
		t.remove(ourRun(1), id)
	}
}

func removedSpace(t documentTrial) {
	content := filler(verification.MaxDocumentBytes)
	for n := range 12 { // more than there is room for
		d := t.keep(ourRun(n), upload(n), content)
		t.remove(ourRun(n), d.ID)
	}
}

func documentsMeet(t documentTrial) {
	var saved [meeting]verification.Document
	var errs [meeting]error
	content := func(n int) []byte { return filler(100_000 + n) }
	together(func(n int) {
		saved[n], errs[n] = t.docs.SaveDocument(t.ctx, ourRun(n/2), upload(n), bytes.NewReader(content(n)))
	})
	for n := range meeting {
		t.ok("SaveDocument", errs[n])
		t.holds(ourRun(n/2), saved[n], content(n))
	}
}

// filler is content of a length in bytes.
func filler(length int) []byte { return bytes.Repeat([]byte("x"), length) }

// readerFunc is a function as an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
