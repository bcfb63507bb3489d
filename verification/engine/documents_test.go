// Tests of uploads: whose they are, and what is kept of them.

package engine_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/verificationtest"
)

// shelf keeps what is known of uploads, and reads them to their end.
func shelf() *mock.DocumentStoreMock {
	kept := map[verification.RunRef]map[string]verification.Document{}
	return &mock.DocumentStoreMock{
		SaveDocumentFunc: func(_ context.Context, r verification.RunRef, d verification.Document, _ []string, content io.Reader) (verification.Document, error) {
			raw, err := io.ReadAll(content)
			if kept[r] == nil {
				kept[r] = map[string]verification.Document{}
			}
			d.Size, d.MediaType, d.SHA256 = int64(len(raw)), "image/png", "ab"
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
	}
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
	k := verificationtest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents = shelf() })
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
	if d.Field != "face" || !d.CreatedAt.Equal(verificationtest.Began()) {
		t.Errorf("document = %+v, want one for face of this moment", d)
	}
	answer := verification.Data(`{"face":{"document_id":"` + d.ID + `"}}`)

	var fault *verification.Error
	_, err = k.Engine.Submit(t.Context(), verificationtest.Tenant, other.ID, "photo_submitted", answer)
	if !errors.As(err, &fault) || len(fault.Fields) != 1 || fault.Fields[0].Name != "payload.face" {
		t.Errorf("an upload of another run = %v, want payload.face refused", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), otherToken, otherWait, answer); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("an upload of another run on the page = %v, want ErrInvalid", err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), token, wait, answer); err != nil {
		t.Fatal(err)
	}
	report, err := k.Engine.Report(t.Context(), verificationtest.Tenant, mine.ID)
	want := `{"face":{"document_id":"` + d.ID + `"},"documents":{"face":{"document_id":"` + d.ID +
		`","media_type":"image/png","size":6,"sha256":"ab"}}}`
	if err != nil || string(report.Cards[0].Data) != want {
		t.Errorf("data = %s, %v; want %s", report.Cards[0].Data, err, want)
	}
}

func TestAnUploadIsRefusedWhereNoneIsAskedFor(t *testing.T) {
	k := verificationtest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Documents = shelf() })
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
	without := verificationtest.New(t)
	run = start(without, portrait())
	token = strings.TrimPrefix(run.Action.URL, "http://journey.example/journey/")
	if _, err := without.Engine.UploadDocument(t.Context(), token, 2, "face", strings.NewReader("x")); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("without a store of documents = %v, want ErrUnavailable", err)
	}
}
