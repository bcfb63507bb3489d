// The clauses on uploaded documents.

package storetest

import (
	"bytes"
	"context"
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
			"DocumentStore.Document, OpenDocument: what is known of a document; reads it", savedDocument),
		document("a document belongs to its run and tenant",
			"DocumentStore: a document of another run is ErrNotFound", documentsApart),
		document("the media type is found from the content",
			save+"returns d with its MediaType filled in", typeByContent),
		document("what has no known type is refused",
			save+"content of a type that accept does not list is ErrInvalid", unknownTypes),
		document("what accept does not list is refused",
			save+"an empty accept takes every type that is known", acceptedTypes),
		document("a document may be as long as the limit and no longer",
			save+"too much content is ErrInvalid", longDocuments),
		document("an endless upload is given up",
			save+"memory stays bounded whatever is sent", endlessDocument),
		document("an image that cannot be decoded is refused",
			save+"an image that cannot be decoded is ErrInvalid", brokenImages),
		document("an image out of bounds is refused",
			save+"an image that is out of bounds is ErrInvalid", hugeImages),
		document("a refusal names the field and keeps nothing",
			save+"is ErrInvalid, and nothing is kept", refusedDocument),
		document("an upload that breaks off is not kept",
			save+"keeps what it reads from content", brokenUpload),
		document("where a JPEG was taken is not kept",
			save+"what a JPEG says of where it was taken is removed", locatedJPEG),
		document("size and digest are of what is kept",
			"Document.Size, Document.SHA256: as it is kept", keptDigest),
		document("a save whose context is over keeps nothing",
			save+"keeps what it reads from content", cancelledDocument),
		document("documents saved at once are all kept",
			save+"keeps what it reads from content", documentsMeet),
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
func (t documentTrial) keep(r verification.RunRef, d verification.Document, accept []string, content []byte) verification.Document {
	if t.over() {
		return d
	}
	got, err := t.docs.SaveDocument(t.ctx, r, d, accept, bytes.NewReader(content))
	t.ok(fmt.Sprintf("SaveDocument(accept %q) of %.8q", accept, content), err)
	return got
}

// refuse saves a document and wants it to be refused.
func (t documentTrial) refuse(what string, d verification.Document, accept []string, content io.Reader) error {
	if t.over() {
		return nil
	}
	_, err := t.docs.SaveDocument(t.ctx, ourRun(1), d, accept, content)
	t.refused("SaveDocument of "+what, err, verification.ErrInvalid)
	return err
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
		ID: fmt.Sprintf("e0000000-0000-7000-8000-%012x", n), Field: "front", CreatedAt: moment(time.Duration(n) * time.Second),
	}
}

func savedDocument(t documentTrial) {
	for n, content := range [][]byte{somePDF(0), someJPEG(), somePNG(), somePDF(1 << 20)} {
		d := t.keep(ourRun(1), upload(n), nil, content)
		want := upload(n)
		want.MediaType, want.Size, want.SHA256 = d.MediaType, d.Size, d.SHA256
		same(t.trial, "what SaveDocument returns", d, want)
		kept := t.kept(ourRun(1), d.ID)
		if n%3 == 0 && !bytes.Equal(kept, content) {
			t.faultf("a PDF of %d bytes reads %d bytes or other ones, want it as it was sent", len(content), len(kept))
		}
		t.holds(ourRun(1), d, kept)
	}
}

func documentsApart(t documentTrial) {
	mine := t.keep(ourRun(1), upload(1), nil, somePDF(0))
	for _, r := range []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}} {
		t.lacks(r, mine.ID)
		// What they have under the same id is theirs.
		yours := t.keep(r, upload(1), nil, somePDF(100))
		t.holds(r, yours, somePDF(100))
	}
	t.holds(ourRun(1), mine, somePDF(0))
	for _, id := range []string{upload(2).ID, "", "..", "../" + mine.ID, mine.ID + "/", "no uuid", strings.Repeat("x", 5000)} {
		t.lacks(ourRun(1), id)
	}
}

func refusedDocument(t documentTrial) {
	for what, content := range map[string][]byte{
		"text":                []byte(prose),
		"half a JPEG":         someJPEG()[:len(someJPEG())/2],
		"too large an image":  hugePNG(),
		"too long a document": somePDF(verification.MaxDocumentBytes + 1),
	} {
		err := t.refuse(what, upload(1), nil, bytes.NewReader(content))
		var expected *verification.Error
		if errors.As(err, &expected) && (len(expected.Fields) != 1 || expected.Fields[0].Name != "front" || expected.Fields[0].Message == "") {
			t.faultf("SaveDocument of %s names the fields %+v, want front and why", what, expected.Fields)
		}
		t.lacks(ourRun(1), upload(1).ID)
	}
	d := t.keep(ourRun(1), upload(1), nil, somePDF(0))
	t.holds(ourRun(1), d, somePDF(0))
}

func brokenUpload(t documentTrial) {
	broken := errors.New("the line broke")
	for n, content := range [][]byte{somePDF(0), someJPEG(), somePDF(1 << 20)} {
		for _, came := range []int{0, len(content) / 2, len(content)} {
			if t.over() {
				return
			}
			line := io.MultiReader(bytes.NewReader(content[:came]), iotest.ErrReader(broken))
			if _, err := t.docs.SaveDocument(t.ctx, ourRun(1), upload(n), nil, line); !errors.Is(err, broken) {
				t.faultf("SaveDocument of an upload that breaks off after %d bytes of %d: %v, want its error", came, len(content), err)
			}
			t.lacks(ourRun(1), upload(n).ID)
		}
	}
}

func cancelledDocument(t documentTrial) {
	if _, err := t.docs.SaveDocument(cancelled(t.ctx), ourRun(1), upload(1), nil, bytes.NewReader(somePDF(0))); err == nil {
		t.faultf("SaveDocument under a context that is over succeeded, want an error")
	}
	t.lacks(ourRun(1), upload(1).ID)
	// It ends while the content comes.
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	ending := readerFunc(func(p []byte) (int, error) {
		cancel()
		return zeros{}.Read(p)
	})
	line := io.MultiReader(bytes.NewReader(somePDF(0)), io.LimitReader(ending, 1000), bytes.NewReader(somePDF(0)))
	if _, err := t.docs.SaveDocument(ctx, ourRun(1), upload(1), nil, line); err == nil {
		t.faultf("SaveDocument under a context that ends succeeded, want an error")
	}
	t.lacks(ourRun(1), upload(1).ID)
}

func removedDocument(t documentTrial) {
	t.keep(ourRun(1), upload(1), nil, somePDF(1<<20))
	t.remove(ourRun(1), upload(1).ID)
	t.lacks(ourRun(1), upload(1).ID)
	d := t.keep(ourRun(1), upload(1), nil, somePDF(10))
	t.holds(ourRun(1), d, somePDF(10))
}

func removedAlone(t documentTrial) {
	d := t.keep(ourRun(1), upload(1), nil, somePDF(0))
	others := []verification.RunRef{ourRun(2), {Tenant: theirs, Run: runID(1)}}
	for _, r := range others {
		t.keep(r, upload(1), nil, somePDF(0))
	}
	beside := t.keep(ourRun(1), upload(2), nil, somePDF(100))
	t.remove(ourRun(1), upload(1).ID)
	for _, r := range others {
		t.holds(r, d, somePDF(0))
	}
	t.holds(ourRun(1), beside, somePDF(100))
}

func removedTwice(t documentTrial) {
	t.keep(ourRun(1), upload(1), nil, somePDF(0))
	for range 2 {
		t.remove(ourRun(1), upload(1).ID)
	}
	for _, id := range []string{upload(2).ID, "", "..", "../" + upload(2).ID, "no uuid"} {
		t.remove(ourRun(1), id)
	}
}

func removedSpace(t documentTrial) {
	content := somePDF(verification.MaxDocumentBytes)
	for n := range 12 { // more than there is room for
		d := t.keep(ourRun(n), upload(n), nil, content)
		t.remove(ourRun(n), d.ID)
	}
}

func documentsMeet(t documentTrial) {
	var saved [meeting]verification.Document
	var errs [meeting]error
	content := func(n int) []byte { return somePDF(100_000 + n) }
	together(func(n int) {
		saved[n], errs[n] = t.docs.SaveDocument(t.ctx, ourRun(n/2), upload(n), nil, bytes.NewReader(content(n)))
	})
	for n := range meeting {
		t.ok("SaveDocument", errs[n])
		t.holds(ourRun(n/2), saved[n], content(n))
	}
}
