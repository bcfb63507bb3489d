// Tests of the files that a customer sends, and of those that are stored.

package journey_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// ledger is a store of documents that lists what it holds.
type ledger struct {
	verification.DocumentStore
	mu   sync.Mutex
	held map[string]bool
}

func (l *ledger) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
	d, err := l.DocumentStore.SaveDocument(ctx, r, d, content)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.held[d.ID] = true
	}
	return d, err
}

func (l *ledger) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, id)
	return l.DocumentStore.RemoveDocument(ctx, r, id)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

// atPhotos serves a customer whose open step has upload fields.
func atPhotos(t *testing.T, documents verification.DocumentStore) (*customer, *ledger) {
	t.Helper()
	l := &ledger{DocumentStore: documents, held: map[string]bool{}}
	s := serve(t, func(p *engine.Ports, _ *engine.Options) { p.Documents = l })
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	return c, l
}

func pdf(n int) string { return fmt.Sprintf("%%PDF-1.4\n%% number %d\n%%%%EOF\n", n) }

func TestTheLastOfManyFilesForAFieldIsKept(t *testing.T) {
	c, l := atPhotos(t, blob.Memory(64<<20, 0))
	var page response
	for round := range 2 {
		var files []file
		for n := range 40 {
			files = append(files, file{"front", fmt.Sprintf("%d.pdf", n), pdf(100*round + n)})
		}
		page = c.send(files) // the location is missing
		wants(t, page, http.StatusUnprocessableEntity, "39.pdf")
		if got := l.count(); got != 1 {
			t.Fatalf("%d documents are kept after post %d, want 1", got, round+1)
		}
	}
	for round := range rules.MaxUploads/40 - 2 {
		for n := range 40 {
			page = c.send([]file{{"front", "again.pdf", pdf(1000 + 100*round + n)}})
		}
	}
	wants(t, page, http.StatusUnprocessableEntity, "again.pdf")
	id := between(page.body, `name="f.front.id" value="`, `"`)
	wants(t, c.send([]file{{"front", "more.pdf", pdf(9999)}}, "f.front.id", id, "f.front.name", "again.pdf", "f.where.denied", "on"),
		http.StatusUnprocessableEntity, "Too many files were sent for this step", `name="f.where.denied" value="on" checked`)
	onward(t, c.send(nil, "f.front.id", id, "f.where.denied", "on"))
	if got := c.data(c, "extra"); !strings.Contains(got, id) || l.count() != 1 || !l.held[id] {
		t.Errorf("extra = %s with %v kept, want %s", got, l.held, id)
	}
}

func TestFilesSentTwiceAreKeptOnce(t *testing.T) {
	c, l := atPhotos(t, blob.Memory(64<<20, 0))
	files := []file{{"front", "pass.jpg", picture(t, 5)}, {"selfie", "me.jpg", picture(t, 9)}}
	wait := c.wait()
	answers := make([]response, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = c.sendTo(wait, files, "f.where.denied", "on") })
	}
	all.Wait()
	for _, a := range answers {
		onward(t, a)
	}
	if got := l.count(); got != 2 {
		t.Errorf("%d documents are kept, want 2", got)
	}
	if got := c.data(c, "extra"); !strings.Contains(got, "front") || !strings.Contains(got, "selfie") {
		t.Errorf("extra = %s, want both files", got)
	}
}

func TestAFileThatIsNotSentWithTheAnswerIsRemoved(t *testing.T) {
	c, l := atPhotos(t, blob.Memory(64<<20, 0))
	page := c.send([]file{{"front", "pass.pdf", pdf(1)}, {"selfie", "me.jpg", picture(t, 9)}})
	front := between(page.body, `name="f.front.id" value="`, `"`)
	selfie := between(page.body, `name="f.selfie.id" value="`, `"`)
	if l.count() != 2 {
		t.Fatalf("%d documents are kept, want 2", l.count())
	}
	onward(t, c.send(nil, "f.where.denied", "on", "f.front.id", front, "f.selfie.id", selfie, "f.selfie.drop", "on"))
	if l.count() != 1 || !l.held[front] {
		t.Errorf("kept = %v, want %s alone", l.held, front)
	}
}

func TestAHEICPhotoIsRefusedWithAdvice(t *testing.T) {
	c, l := atPhotos(t, blob.Memory(64<<20, 0))
	const photo = "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"
	wants(t, c.send([]file{{"front", "pass.heic", photo}}, "f.where.denied", "on"), http.StatusUnprocessableEntity,
		"This photo is in the HEIC format", "Most Compatible", `name="f.where.denied" value="on" checked`)
	if l.count() != 0 {
		t.Errorf("%d documents are kept, want none", l.count())
	}
}

func TestAnUploadBeyondTheSpaceKeepsTheAnswers(t *testing.T) {
	c, _ := atPhotos(t, blob.Memory(64<<20, 4<<10))
	big := pdf(1) + strings.Repeat(" ", 8<<10)
	big = "%PDF-1.4\n" + big
	wants(t, c.send([]file{{"front", "pass.pdf", big + "%%EOF\n"}}, "f.where.denied", "on"), http.StatusUnprocessableEntity,
		"We cannot take more files right now", `name="f.where.denied" value="on" checked`)
	onward(t, c.send([]file{{"front", "pass.pdf", pdf(1)}}, "f.where.denied", "on"))
}
