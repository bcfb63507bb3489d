// Tests of uploads: the run and field they belong to, and their removal.

package engine_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// newDocuments returns a mock that keeps the metadata of uploads.
func newDocuments() *mock.DocumentStoreMock {
	kept := map[verification.RunRef]map[string]verification.Document{}
	return &mock.DocumentStoreMock{
		SaveDocumentFunc: func(_ context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
			raw, err := io.ReadAll(content)
			if kept[r] == nil {
				kept[r] = map[string]verification.Document{}
			}
			d.Size, d.SHA256 = int64(len(raw)), hex.EncodeToString(raw)
			kept[r][d.ID] = d
			return d, err
		},
		DocumentFunc: func(_ context.Context, r verification.RunRef, id string) (verification.Document, error) {
			d, ok := kept[r][id]
			if !ok {
				return d, &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
			}
			return d, nil
		},
		RemoveDocumentsFunc: func(_ context.Context, r verification.RunRef) error {
			delete(kept, r)
			return nil
		},
		OpenDocumentFunc: func(_ context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
			raw, err := hex.DecodeString(kept[r][id].SHA256) // see SaveDocumentFunc
			return io.NopCloser(bytes.NewReader(raw)), err
		},
		RemoveDocumentFunc: func(_ context.Context, r verification.RunRef, id string) error {
			delete(kept[r], id)
			return nil
		},
	}
}

// unchanged is a sanitizer that takes every file as a PNG.
func unchanged(_ context.Context, content io.Reader, _ []string) (string, io.ReadCloser, error) {
	return "image/png", io.NopCloser(content), nil
}

func portrait() workflow.Definition {
	return workflow.Definition{
		Workflow: "portrait", Name: "Portrait", Start: "photo",
		Nodes: map[verification.NodeID]workflow.Node{
			"photo": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				{Name: "face", Type: workflow.FieldImage, Required: true},
				{Name: "name", Type: workflow.FieldText},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

func TestAnUploadBelongsToItsRunAndField(t *testing.T) {
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = newDocuments(), unchanged })
	w := k.Apply(portrait())
	begin := func() (rules.RunDetail, engine.Journey) {
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
		return run, openJourney(t, k, run)
	}
	mine, journey := begin()
	other, otherJourney := begin()
	d, err := k.Engine.UploadDocument(t.Context(), journey, journey.Step.WaitNumber, "face", strings.NewReader("pixels"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Field != "face" || !d.CreatedAt.Equal(enginetest.Began()) {
		t.Errorf("document = %+v, want one for face, created now", d)
	}
	answer := verification.Data(`{"face":{"document_id":"` + d.ID + `"}}`)

	var refused *verification.Error
	_, err = k.Engine.Submit(t.Context(), enginetest.Tenant, other.ID, engine.SubmitRequest{Signal: "photo_submitted", Payload: answer})
	if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Name != "payload.face" {
		t.Errorf("an upload of another run = %v, want payload.face refused", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), otherJourney, otherJourney.Step.WaitNumber, answer); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an upload of another run on the page = %v, want ErrInvalid", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), journey, journey.Step.WaitNumber, answer); err != nil {
		t.Fatal(err)
	}
	report, err := k.Engine.Report(t.Context(), enginetest.Tenant, mine.ID)
	want := `{"face":{"document_id":"` + d.ID + `"},"documents":{"face":{"document_id":"` + d.ID +
		`","media_type":"image/png","size":6,"sha256":"706978656c73"}}}`
	if err != nil || string(report.Cards[0].Data) != want {
		t.Errorf("data = %s, %v; want %s", report.Cards[0].Data, err, want)
	}
}

func TestAnUploadIsRefusedUnlessAFieldAcceptsIt(t *testing.T) {
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = newDocuments(), unchanged })
	j := openJourney(t, k, start(k, portrait()))
	for name, c := range map[string]struct {
		wait  int
		field string
		want  error
	}{
		"stale page":    {j.Step.WaitNumber - 1, "face", verification.ErrNotOpen},
		"unknown field": {j.Step.WaitNumber, "back", verification.ErrInvalid},
		"text field":    {j.Step.WaitNumber, "name", verification.ErrInvalid},
	} {
		if _, err := k.Engine.UploadDocument(t.Context(), j, c.wait, c.field, strings.NewReader("x")); !errors.Is(err, c.want) {
			t.Errorf("%s = %v, want %v", name, err, c.want)
		}
	}
	without := enginetest.New(t)
	j = openJourney(t, without, start(without, portrait()))
	if _, err := without.Engine.UploadDocument(t.Context(), j, j.Step.WaitNumber, "face", strings.NewReader("x")); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("without a store of documents = %v, want ErrUnavailable", err)
	}
}

// customer is a customer with an open form.
type customer struct {
	*enginetest.Kit
	t         *testing.T
	run       rules.RunDetail
	documents *mock.DocumentStoreMock
	runs      *mock.RunStoreMock
}

func openForm(t *testing.T, d workflow.Definition, changes ...enginetest.Change) *customer {
	t.Helper()
	s := &customer{t: t, documents: newDocuments()}
	s.Kit, s.runs = withRuns(t, append([]enginetest.Change{func(p *engine.Ports, _ *engine.Options) {
		p.Documents, p.Sanitize = s.documents, unchanged
	}}, changes...)...)
	s.run = start(s.Kit, d)
	return s
}

func (s *customer) upload(field, content string) (string, error) {
	j := openJourney(s.t, s.Kit, s.run)
	d, err := s.Engine.UploadDocument(s.t.Context(), j, j.Step.WaitNumber, field, strings.NewReader(content))
	return d.ID, err
}

func (s *customer) mustUpload(field, content string) string {
	s.t.Helper()
	id, err := s.upload(field, content)
	if err != nil {
		s.t.Fatalf("upload of %q for %s = %v", content, field, err)
	}
	return id
}

func (s *customer) answer(fields ...string) error {
	payload := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		payload[fields[i]] = map[string]any{"document_id": fields[i+1]}
	}
	data, err := verification.NewData(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.Engine.Submit(s.t.Context(), enginetest.Tenant, s.run.ID, engine.SubmitRequest{Signal: "photo_submitted", Payload: data})
	return err
}

// kept returns the IDs of the documents that the store still has.
func (s *customer) kept(ids ...string) (kept []string) {
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: s.run.ID}
	for _, id := range ids {
		if _, err := s.documents.Document(s.t.Context(), ref, id); err == nil {
			kept = append(kept, id)
		}
	}
	return kept
}

// portraits asks for two files.
func portraits() workflow.Definition {
	return with(portrait(), "photo", func(n *workflow.Node) {
		n.Fields = append(n.Fields, workflow.InputField{Name: "back", Type: workflow.FieldFile})
	})
}

func TestAReplacedUploadIsRemoved(t *testing.T) {
	s := openForm(t, portraits())
	first, back := s.mustUpload("face", "first"), s.mustUpload("back", "back")
	second := s.mustUpload("face", "second")
	if got := s.kept(first, second, back); !slices.Equal(got, []string{second, back}) {
		t.Errorf("kept = %q, want the second face %s and the back %s", got, second, back)
	}
	if again := s.mustUpload("face", "second"); again != second {
		t.Errorf("the same content again = %s, want %s", again, second)
	}
	if got := len(s.documents.SaveDocumentCalls()) - len(s.documents.RemoveDocumentCalls()); got != 2 {
		t.Errorf("%d documents are kept, want 2", got)
	}
	if err := s.answer("face", first); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an answer that names the replaced upload = %v, want ErrInvalid", err)
	}
	if err := s.answer("face", second); err != nil {
		t.Fatal(err)
	}
	if got := s.kept(second, back); !slices.Equal(got, []string{second}) {
		t.Errorf("kept after the answer = %q, want %s alone, which it names", got, second)
	}
}

func TestAnUploadDuringAnAnswerInvalidatesIt(t *testing.T) {
	s := openForm(t, portrait())
	first := s.mustUpload("face", "first")
	var second string
	nextAppend(s.runs, func() { second = s.mustUpload("face", "second") }) // from another tab
	if err := s.answer("face", first); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an answer that names what was replaced meanwhile = %v, want ErrInvalid", err)
	}
	if err := s.answer("face", second); err != nil {
		t.Errorf("an answer that names the last upload = %v", err)
	}
	if got := s.kept(first, second); !slices.Equal(got, []string{second}) {
		t.Errorf("kept = %q, want %s", got, second)
	}
}

func TestAnAnswerDuringAnUploadKeepsItsDocuments(t *testing.T) {
	s := openForm(t, portrait())
	first := s.mustUpload("face", "first")
	nextAppend(s.runs, func() {
		if err := s.answer("face", first); err != nil {
			t.Errorf("answer = %v", err)
		}
	})
	if _, err := s.upload("face", "second"); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("an upload to a step that was answered meanwhile = %v, want ErrNotOpen", err)
	}
	if got := s.kept(first); len(got) != 1 {
		t.Error("the document that the answer names is gone")
	}
	if got := len(s.documents.SaveDocumentCalls()) - len(s.documents.RemoveDocumentCalls()); got != 1 {
		t.Errorf("%d documents are kept, want 1", got)
	}
}

func TestAnAnswerInsideATransactionRemovesNothing(t *testing.T) {
	s := openForm(t, portraits())
	face, back := s.mustUpload("face", "face"), s.mustUpload("back", "back")
	payload := verification.Data(`{"face":{"document_id":"` + face + `"}}`)
	inside := s.Engine.Within(s.Store)
	if _, err := inside.Submit(t.Context(), enginetest.Tenant, s.run.ID, engine.SubmitRequest{Signal: "photo_submitted", Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if got := s.kept(face, back); len(got) != 2 { // it may be rolled back
		t.Errorf("kept = %q, want both", got)
	}
	s.Engine.Wake() // as the caller does after its transaction
	s.Advance(25 * time.Hour)
	if got := s.kept(face, back); !slices.Equal(got, []string{face}) {
		t.Errorf("a day later, kept = %q, want the document that the answer names", got)
	}
}

func TestUploadsWithoutAnAnswerGoADayLater(t *testing.T) {
	s := openForm(t, portraits())
	face := s.mustUpload("face", "face")
	if _, err := s.Engine.Cancel(t.Context(), enginetest.Tenant, s.run.ID); err != nil {
		t.Fatal(err)
	}
	s.Advance(23 * time.Hour)
	if got := s.kept(face); len(got) != 1 {
		t.Error("the upload went before a day had passed")
	}
	s.documents.RemoveDocumentFunc = func(context.Context, verification.RunRef, string) error { return errors.New("away") }
	s.Advance(2 * time.Hour)
	removed := len(s.documents.RemoveDocumentCalls())
	s.documents.RemoveDocumentFunc = func(context.Context, verification.RunRef, string) error { return nil }
	s.Advance(2 * time.Minute)
	calls := s.documents.RemoveDocumentCalls()
	if len(calls) <= removed || calls[len(calls)-1].ID != face {
		t.Errorf("%d calls before, %d after: the removal is not repeated", removed, len(calls))
	}
	settled := len(calls)
	s.Advance(48 * time.Hour)
	if n := len(s.documents.RemoveDocumentCalls()); n != settled {
		t.Errorf("the upload is removed %d times after it was", n-settled)
	}
}

func TestARunWithoutUnusedUploadsQueuesNoErasure(t *testing.T) {
	s := openForm(t, portrait())
	if err := s.answer("face", s.mustUpload("face", "face")); err != nil {
		t.Fatal(err)
	}
	work, _, err := s.Store.Take(t.Context(), store.TakeRequest{Kind: store.WorkErase, Now: s.Clock.Now().Add(48 * time.Hour), Lease: time.Second, Max: 1, MaxPerTenant: 1})
	if err != nil || len(work) != 0 {
		t.Errorf("queued: %v, %v", work, err)
	}
}

func TestOldDocumentsOfARunAreRemoved(t *testing.T) {
	s := openForm(t, portrait())
	face := s.mustUpload("face", "face")
	remove := func() (bool, error) { return s.Engine.RemoveDocuments(t.Context(), enginetest.Tenant, s.run.ID) }
	if _, err := remove(); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("of a live run: %v, want ErrConflict", err)
	}
	if err := s.answer("face", face); err != nil {
		t.Fatal(err)
	}
	if removed, err := remove(); !removed || err != nil {
		t.Fatalf("RemoveDocuments = %t, %v", removed, err)
	}
	s.Settle()
	if got := s.kept(face); len(got) != 0 {
		t.Error("the document is left")
	}
	if _, _, err := s.Engine.OpenDocument(t.Context(), enginetest.Tenant, s.run.ID, face); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("OpenDocument = %v, want ErrNotFound", err)
	}
	report, err := s.Engine.Report(t.Context(), enginetest.Tenant, s.run.ID)
	if err != nil || report.Run.DocumentsRemovedAt.IsZero() || !report.Run.RedactedAt.IsZero() || report.Run.ReferenceID == rules.RedactedReference {
		t.Errorf("the report has %+v, %v", report.Run, err)
	}
	if removed, err := remove(); removed || err != nil {
		t.Errorf("again: %t, %v", removed, err)
	}
	if _, err := s.Engine.RemoveDocuments(t.Context(), enginetest.Tenant, "d0000000-0000-7000-8000-00000000ffff"); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("of an unknown run: %v", err)
	}
}

func TestADocumentThatMayBePartlySavedIsRemoved(t *testing.T) {
	s := openForm(t, portrait())
	s.documents.SaveDocumentFunc = func(context.Context, verification.RunRef, verification.Document, io.Reader) (verification.Document, error) {
		return verification.Document{}, context.Canceled // a bucket may have saved it
	}
	if _, err := s.upload("face", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("upload = %v, want the error of the store", err)
	}
	saved, removed := s.documents.SaveDocumentCalls(), s.documents.RemoveDocumentCalls()
	if len(removed) != 1 || removed[0].ID != saved[0].D.ID {
		t.Errorf("removed = %+v, want what was being saved", removed)
	}
}

// The run reaches its form while the answer is being delivered.
func TestAMadeUpDocumentIsRefusedWhileACheckRuns(t *testing.T) {
	checked := portrait()
	checked.Start = "check"
	checked.Nodes["check"] = workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: "photo"}
	k, runs := withRuns(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = newDocuments(), unchanged })
	k.Provider.On("check", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	run := k.Start(k.Apply(checked).ID, engine.StartRequest{ReferenceID: "x"})
	load, advance := runs.LoadFunc, sync.OnceFunc(func() { k.Advance(time.Second) })
	runs.LoadFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]rules.Event, error) {
		events, err := load(ctx, t, id, after)
		advance()
		return events, err
	}
	madeUp := verification.Data(`{"face":{"document_id":"e0000000-0000-7000-8000-00000000ffff"}}`)
	submit := func() error {
		_, err := k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, engine.SubmitRequest{Signal: "photo_submitted", Payload: madeUp})
		return err
	}
	if err := submit(); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("an answer that came before the form = %v, want ErrNotOpen", err)
	}
	if got := k.Run(run.ID); got.Action == nil {
		t.Errorf("run = %+v, want it to wait for its customer", got)
	}
	if err := submit(); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a document that was never uploaded = %v, want ErrInvalid", err)
	}
}

func TestARefusedFileNamesItsFieldAndIsNotStored(t *testing.T) {
	refusal := &verification.Error{Kind: verification.ErrInvalid, Subject: "document", Message: "the image cannot be read"}
	broken := errors.New("the line broke")
	for name, c := range map[string]struct {
		sanitize verification.Sanitizer
		want     error
	}{
		"by its first bytes": {func(context.Context, io.Reader, []string) (string, io.ReadCloser, error) {
			return "", nil, refusal
		}, verification.ErrInvalid},
		"by a later byte": {func(context.Context, io.Reader, []string) (string, io.ReadCloser, error) {
			return "image/png", io.NopCloser(iotest.ErrReader(refusal)), nil
		}, verification.ErrInvalid},
		"with its connection": {func(context.Context, io.Reader, []string) (string, io.ReadCloser, error) {
			return "", nil, broken
		}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			s := openForm(t, portrait(), func(p *engine.Ports, _ *engine.Options) {
				p.Documents, p.Sanitize = blob.Memory(1<<20, 1<<20), c.sanitize
			})
			_, err := s.upload("face", "x")
			if !errors.Is(err, c.want) {
				t.Fatalf("upload = %v, want %v", err, c.want)
			}
			var refused *verification.Error
			want := []verification.FieldError{{Name: "payload.face", Message: "the image cannot be read"}}
			if errors.As(err, &refused) && !slices.Equal(refused.Fields, want) {
				t.Errorf("upload names %+v, want %+v", refused.Fields, want)
			}
			if saved := len(s.documents.SaveDocumentCalls()); saved != 0 {
				t.Errorf("%d documents were stored, want none", saved)
			}
		})
	}
}

func TestAnUploadWhoseRecordMayBeSavedIsKept(t *testing.T) {
	s := openForm(t, portrait())
	appendAll := s.runs.AppendFunc
	s.runs.AppendFunc = func(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
		return errors.Join(appendAll(ctx, t, id, seq, c), errDisk)
	}
	if _, err := s.upload("face", "x"); !errors.Is(err, errDisk) {
		t.Errorf("upload = %v, want the error of the store", err)
	}
	if removed := s.documents.RemoveDocumentCalls(); len(removed) != 0 {
		t.Errorf("removed = %+v, want nothing: the run may refer to it", removed)
	}
}

func TestADocumentThatHasTheIDOfAnUploadIsKept(t *testing.T) {
	s := openForm(t, portrait())
	s.documents.SaveDocumentFunc = func(context.Context, verification.RunRef, verification.Document, io.Reader) (verification.Document, error) {
		return verification.Document{}, verification.Conflict("document", "there is one")
	}
	if _, err := s.upload("face", "x"); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("upload = %v, want ErrConflict", err)
	}
	if removed := s.documents.RemoveDocumentCalls(); len(removed) != 0 {
		t.Errorf("removed = %+v, want nothing", removed)
	}
}

func TestAnUploadOfReplacedContentIsADocumentOfItsOwn(t *testing.T) {
	var replaced func()
	s := openForm(t, portrait(), func(p *engine.Ports, _ *engine.Options) {
		p.Sanitize = func(ctx context.Context, content io.Reader, accept []string) (string, io.ReadCloser, error) {
			if f := replaced; f != nil {
				replaced = nil
				f()
			}
			return unchanged(ctx, content, accept)
		}
	})
	first := s.mustUpload("face", "first")
	replaced = func() { s.mustUpload("face", "second") } // from another tab, while the content arrives
	again := s.mustUpload("face", "first")
	if got := s.kept(first, again); !slices.Equal(got, []string{again}) {
		t.Errorf("kept = %q, want %s", got, again)
	}
}

// inRows asks for people, each with a name and a photo.
func inRows() workflow.Definition {
	return with(portrait(), "photo", func(n *workflow.Node) {
		n.Fields = workflow.InputFields{{Name: "owners", Type: workflow.FieldGroup, Fields: workflow.InputFields{
			{Name: "name", Type: workflow.FieldText, Search: true},
			{Name: "photo", Type: workflow.FieldImage, Required: true},
		}}}
	})
}

// answered sends two rows with their photos, of which the page has removed the row before them.
func (s *customer) answered() (first, second string) {
	s.t.Helper()
	gone := s.mustUpload("owners[0].photo", "gone")
	first, second = s.mustUpload("owners[1].photo", "first"), s.mustUpload("owners[2].photo", "second")
	row := func(name, id string) map[string]any {
		return map[string]any{"name": name, "photo": map[string]any{"document_id": id}}
	}
	s.Submit(s.run.ID, "photo_submitted", map[string]any{"owners": []any{row("Kanarienvogel", first), row("Meera", second)}})
	s.Settle()
	if got := s.kept(gone, first, second); !slices.Equal(got, []string{first, second}) {
		s.t.Fatalf("kept = %q, want those of the rows that were sent", got)
	}
	return first, second
}

func TestUploadsOfRowsGoWithTheirRun(t *testing.T) {
	for name, remove := range map[string]func(s *customer) error{
		"redaction": func(s *customer) error {
			_, err := s.Engine.Redact(s.t.Context(), enginetest.Tenant, s.run.ID, "", eraser)
			return err
		},
		"retention of documents": func(s *customer) error {
			_, err := s.Engine.RemoveDocuments(s.t.Context(), enginetest.Tenant, s.run.ID)
			return err
		},
	} {
		s := openForm(t, inRows())
		first, second := s.answered()
		if err := remove(s); err != nil {
			t.Fatalf("%s = %v", name, err)
		}
		s.Settle()
		if got := s.kept(first, second); len(got) != 0 {
			t.Errorf("after a %s, %q are left", name, got)
		}
		history, err := s.Engine.History(t.Context(), enginetest.Tenant, s.run.ID)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := rules.EncodeEvents(history.Events)
		if err != nil {
			t.Fatal(err)
		}
		if name == "redaction" && (strings.Contains(string(raw), "Kanarienvogel") || strings.Contains(string(raw), first)) {
			t.Errorf("after a %s, the history has %s", name, raw)
		}
	}
}

func TestARunIsFoundByTheAnswersInItsRows(t *testing.T) {
	s := openForm(t, inRows(), searching)
	s.answered()
	for text, want := range map[string]int{"Kanarienvogel": 1, "meera": 1, "asha": 0} {
		keys := s.Engine.SearchKeys(enginetest.Tenant, facts.ParseSearch(text))
		page, err := s.Engine.Runs(t.Context(), enginetest.Tenant, store.RunQuery{Keys: keys, PageQuery: store.PageQuery{Limit: 10}})
		if err != nil || page.Total != want {
			t.Errorf("%q finds %d runs, %v, want %d", text, page.Total, err, want)
		}
	}
}
