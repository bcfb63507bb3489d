// Tests of uploads: whose they are, and what is kept of them.

package engine_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// shelf keeps what is known of uploads, and reads them to their end.
func shelf() *mock.DocumentStoreMock {
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

func portrait() verification.Definition {
	return verification.Definition{
		Workflow: "portrait", Name: "Portrait", Start: "photo",
		Nodes: map[verification.NodeID]verification.Node{
			"photo": {Type: verification.NodeCustomerInput, Next: "done", Fields: verification.InputFields{
				{Name: "face", Type: verification.FieldImage, Required: true},
				{Name: "name", Type: verification.FieldText},
			}},
			"done": {Type: verification.NodeEnd},
		},
	}
}

func TestAnUploadBelongsToItsRunAndField(t *testing.T) {
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = shelf(), unchanged })
	w := k.Apply(portrait())
	begin := func() (verification.RunDetail, string, int) {
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
		token := strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
		j, err := k.Engine.OpenJourney(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return run, token, j.Step.Wait
	}
	mine, token, wait := begin()
	other, otherToken, otherWait := begin()
	d, err := k.Engine.UploadDocument(t.Context(), token, wait, "face", strings.NewReader("pixels"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Field != "face" || !d.CreatedAt.Equal(enginetest.Began()) {
		t.Errorf("document = %+v, want one for face of this moment", d)
	}
	answer := verification.Data(`{"face":{"document_id":"` + d.ID + `"}}`)

	var fault *verification.Error
	_, err = k.Engine.Submit(t.Context(), enginetest.Tenant, other.ID, "photo_submitted", answer)
	if !errors.As(err, &fault) || len(fault.Fields) != 1 || fault.Fields[0].Name != "payload.face" {
		t.Errorf("an upload of another run = %v, want payload.face refused", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), otherToken, otherWait, answer); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an upload of another run on the page = %v, want ErrInvalid", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), token, wait, answer); err != nil {
		t.Fatal(err)
	}
	report, err := k.Engine.Report(t.Context(), enginetest.Tenant, mine.ID)
	want := `{"face":{"document_id":"` + d.ID + `"},"documents":{"face":{"document_id":"` + d.ID +
		`","media_type":"image/png","size":6,"sha256":"706978656c73"}}}`
	if err != nil || string(report.Cards[0].Data) != want {
		t.Errorf("data = %s, %v; want %s", report.Cards[0].Data, err, want)
	}
}

func TestAnUploadIsRefusedWhereNoneIsAskedFor(t *testing.T) {
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents, p.Sanitize = shelf(), unchanged })
	run := start(k, portrait())
	token := strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
	j, err := k.Engine.OpenJourney(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token string
		wait  int
		field string
		want  error
	}{
		"forged link":    {"forged", j.Step.Wait, "face", verification.ErrNotFound},
		"stale page":     {token, j.Step.Wait - 1, "face", verification.ErrNotOpen},
		"unknown field":  {token, j.Step.Wait, "back", verification.ErrInvalid},
		"field of words": {token, j.Step.Wait, "name", verification.ErrInvalid},
	} {
		if _, err := k.Engine.UploadDocument(t.Context(), c.token, c.wait, c.field, strings.NewReader("x")); !errors.Is(err, c.want) {
			t.Errorf("%s = %v, want %v", name, err, c.want)
		}
	}
	without := enginetest.New(t)
	run = start(without, portrait())
	token = strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
	if _, err := without.Engine.UploadDocument(t.Context(), token, 2, "face", strings.NewReader("x")); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("without a store of documents = %v, want ErrUnavailable", err)
	}
}

// hooked runs functions between the calls of a run store.
type hooked struct {
	verification.RunStore
	loaded    func() // once, after the next Load
	appending func() // once, before the next Append
}

func once(hook *func()) {
	if f := *hook; f != nil {
		*hook = nil
		f()
	}
}

func (h *hooked) Load(ctx context.Context, t verification.TenantID, id verification.RunID, after int) ([]verification.Event, error) {
	events, err := h.RunStore.Load(ctx, t, id, after)
	once(&h.loaded)
	return events, err
}

func (h *hooked) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, a verification.Commit) error {
	once(&h.appending)
	return h.RunStore.Append(ctx, t, id, seq, a)
}

// sitting is one customer at the page of a form.
type sitting struct {
	*enginetest.Kit
	t     *testing.T
	run   verification.RunID
	token string
	wait  int
	shelf *mock.DocumentStoreMock
	store *hooked
}

func sit(t *testing.T, d verification.Definition, changes ...enginetest.Change) *sitting {
	t.Helper()
	s := &sitting{t: t, shelf: shelf()}
	s.Kit = enginetest.New(t, append([]enginetest.Change{func(p *engine.Ports, _ *engine.Options) {
		s.store = &hooked{RunStore: p.Runs}
		p.Documents, p.Sanitize, p.Runs = s.shelf, unchanged, s.store
	}}, changes...)...)
	run := start(s.Kit, d)
	s.run, s.token = run.ID, strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
	j, err := s.Engine.OpenJourney(t.Context(), s.token)
	if err != nil {
		t.Fatal(err)
	}
	s.wait = j.Step.Wait
	return s
}

func (s *sitting) upload(field, content string) (string, error) {
	d, err := s.Engine.UploadDocument(s.t.Context(), s.token, s.wait, field, strings.NewReader(content))
	return d.ID, err
}

func (s *sitting) mustUpload(field, content string) string {
	s.t.Helper()
	id, err := s.upload(field, content)
	if err != nil {
		s.t.Fatalf("upload of %q for %s = %v", content, field, err)
	}
	return id
}

func (s *sitting) answer(fields ...string) error {
	payload := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		payload[fields[i]] = map[string]any{"document_id": fields[i+1]}
	}
	data, err := verification.NewData(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.Engine.Submit(s.t.Context(), enginetest.Tenant, s.run, "photo_submitted", data)
	return err
}

// kept lists which of the documents the store still has.
func (s *sitting) kept(ids ...string) (kept []string) {
	ref := verification.RunRef{Tenant: enginetest.Tenant, Run: s.run}
	for _, id := range ids {
		if _, err := s.shelf.Document(s.t.Context(), ref, id); err == nil {
			kept = append(kept, id)
		}
	}
	return kept
}

// portraits asks for two files.
func portraits() verification.Definition {
	return with(portrait(), "photo", func(n *verification.Node) {
		n.Fields = append(n.Fields, verification.InputField{Name: "back", Type: verification.FieldFile})
	})
}

func TestAReplacedUploadIsRemoved(t *testing.T) {
	s := sit(t, portraits())
	first, back := s.mustUpload("face", "first"), s.mustUpload("back", "back")
	second := s.mustUpload("face", "second")
	if got := s.kept(first, second, back); !slices.Equal(got, []string{second, back}) {
		t.Errorf("kept = %q, want the second face %s and the back %s", got, second, back)
	}
	if again := s.mustUpload("face", "second"); again != second {
		t.Errorf("the same content again = %s, want %s", again, second)
	}
	if got := len(s.shelf.SaveDocumentCalls()) - len(s.shelf.RemoveDocumentCalls()); got != 2 {
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

func TestAnUploadThatMeetsAnAnswerLeavesWhatTheAnswerNames(t *testing.T) {
	s := sit(t, portrait())
	first := s.mustUpload("face", "first")
	var second string
	s.store.appending = func() { second = s.mustUpload("face", "second") } // from another tab
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

func TestAnAnswerThatMeetsAnUploadKeepsWhatItNames(t *testing.T) {
	s := sit(t, portrait())
	first := s.mustUpload("face", "first")
	s.store.appending = func() {
		if err := s.answer("face", first); err != nil {
			t.Errorf("answer = %v", err)
		}
	}
	if _, err := s.upload("face", "second"); !errors.Is(err, verification.ErrNotOpen) {
		t.Errorf("an upload to a step that was answered meanwhile = %v, want ErrNotOpen", err)
	}
	if got := s.kept(first); len(got) != 1 {
		t.Error("the document that the answer names is gone")
	}
	if got := len(s.shelf.SaveDocumentCalls()) - len(s.shelf.RemoveDocumentCalls()); got != 1 {
		t.Errorf("%d documents are kept, want 1", got)
	}
}

func TestAnAnswerInsideATransactionRemovesNothing(t *testing.T) {
	s := sit(t, portraits())
	face, back := s.mustUpload("face", "face"), s.mustUpload("back", "back")
	payload := verification.Data(`{"face":{"document_id":"` + face + `"}}`)
	inside := s.Engine.Within(engine.Ports{Runs: s.store})
	if _, err := inside.Submit(t.Context(), enginetest.Tenant, s.run, "photo_submitted", payload); err != nil {
		t.Fatal(err)
	}
	if got := s.kept(face, back); len(got) != 2 { // it may be rolled back
		t.Errorf("kept = %q, want both", got)
	}
}

func TestWhatCouldNotBeSavedIsRemoved(t *testing.T) {
	s := sit(t, portrait())
	s.shelf.SaveDocumentFunc = func(context.Context, verification.RunRef, verification.Document, io.Reader) (verification.Document, error) {
		return verification.Document{}, context.Canceled // a bucket may have it all the same
	}
	if _, err := s.upload("face", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("upload = %v, want the fault", err)
	}
	saved, removed := s.shelf.SaveDocumentCalls(), s.shelf.RemoveDocumentCalls()
	if len(removed) != 1 || removed[0].ID != saved[0].D.ID {
		t.Errorf("removed = %+v, want what was being saved", removed)
	}
}

// The run comes to its form while the answer is on its way.
func TestAMadeUpDocumentIsRefusedWhileACheckRuns(t *testing.T) {
	checked := portrait()
	checked.Start = "check"
	checked.Nodes["check"] = verification.Node{Type: verification.NodeCheck, Provider: "script", Next: "photo"}
	store := &hooked{}
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		store.RunStore = p.Runs
		p.Documents, p.Sanitize, p.Runs, o.StartWait = shelf(), unchanged, store, -1
	})
	k.Provider.On("check", enginetest.Slow(time.Second, enginetest.Pass(nil)))
	run := k.Start(k.Apply(checked).ID, engine.StartRequest{ReferenceID: "x"})
	store.loaded = func() { k.Advance(time.Second) }
	madeUp := verification.Data(`{"face":{"document_id":"e0000000-0000-7000-8000-00000000ffff"}}`)
	submit := func() error {
		_, err := k.Engine.Submit(t.Context(), enginetest.Tenant, run.ID, "photo_submitted", madeUp)
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
			s := sit(t, portrait(), func(p *engine.Ports, _ *engine.Options) {
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
			if saved := len(s.shelf.SaveDocumentCalls()); saved != 0 {
				t.Errorf("%d documents were stored, want none", saved)
			}
		})
	}
}
