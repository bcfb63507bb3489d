// Tests of hosts with additions of their program.

package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/verification"
)

// bureau is a provider of a program. It reads an uploaded document.
type bureau struct{ documents verification.DocumentStore }

func (b bureau) Check(ctx context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	id, _ := r.With["statement"].(string)
	content, err := b.documents.OpenDocument(ctx, verification.RunRef{Tenant: r.Tenant, Run: r.Run}, id)
	if err != nil {
		return verification.CheckResult{}, verification.Permanent(err)
	}
	defer func() { _ = content.Close() }()
	size, err := io.Copy(io.Discard, content)
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"size": size}}, err
}

const ownBootstrap = `
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000c
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: own
        id: 0191f3c0-0000-7000-8000-000000000078
        name: Own
        start: form
        nodes:
          form: {type: customer_input, fields: {statement: {type: file, required: true}}, next: look}
          look: {type: check, provider: bureau, with: {statement: "${steps.form.data.statement.document_id}"}, next: done}
          done: {type: end}
`

func TestAProviderOfTheProgramOpensUploads(t *testing.T) {
	documents := blob.Memory(64<<20, 0)
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": bootstrapFile(t, ownBootstrap)},
		server.WithProvider("bureau", bureau{documents}), server.WithDocumentStore(documents))
	r := s.run(http.MethodPost, s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000078/runs", `{"reference_id":"r"}`)
	form, err := s.readForm(r.Action.URL).post(r.Action.URL, barrier{&sync.WaitGroup{}, func() {}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := http.DefaultTransport.RoundTrip(form)
	if err != nil {
		t.Fatal(err)
	}
	_ = page.Body.Close()
	s.await(r.ID, func(r runJSON) bool { return r.Status == "completed" })
	_, report, _ := s.call(http.MethodGet, s.api+"/v1/runs/"+r.ID+"?view=report", "")
	if want := fmt.Sprintf(`"size":%d`, verification.MaxDocumentBytes); !strings.Contains(string(report), want) {
		t.Errorf("report = %s, want %s from the provider", report, want)
	}
}

func TestAWrongAdditionStopsTheStart(t *testing.T) {
	var p verification.Provider = bureau{}
	declared := "providers: {bureau: {type: rest, base_url: \"https://a.example\", request: {path: /}, response: {passed: \"true\"}}}\n"
	for _, tc := range []struct {
		name    string
		options []server.Option
		vars    map[string]string
		want    string
	}{
		{
			"the name of a built-in provider",
			[]server.Option{server.WithProvider("sandbox", p)},
			nil,
			`WithProvider("sandbox"): a built-in provider has this name`,
		},
		{
			"a name twice",
			[]server.Option{server.WithProvider("bureau", p), server.WithProvider("bureau", p)},
			nil,
			`WithProvider("bureau"): the program has two providers of this name`,
		},
		{
			"a name that workflows cannot use",
			[]server.Option{server.WithProvider("offline.bureau", p)},
			nil,
			`WithProvider("offline.bureau"): a name has 1 to 64 letters, digits, - and _, and begins with a letter`,
		},
		{
			"no provider",
			[]server.Option{server.WithProvider("bureau", nil)},
			nil,
			`WithProvider("bureau"): the provider is nil`,
		},
		{
			"a name that the bootstrap file declares",
			[]server.Option{server.WithProvider("bureau", p)},
			map[string]string{"VERIFYD_BOOTSTRAP": bootstrapFile(t, declared+ownBootstrap)},
			"bootstrap.yaml:1:13: providers.bureau: a built-in provider has this name",
		},
		{
			"a second document store",
			[]server.Option{server.WithDocumentStore(blob.Memory(1<<20, 0))},
			map[string]string{"VERIFYD_BLOB_DIR": t.TempDir()},
			"--blob-dir (VERIFYD_BLOB_DIR): must not be given: the program has its own document store",
		},
	} {
		vars := map[string]string{}
		for name, value := range tc.vars {
			vars[name] = value
		}
		err := server.Run(t.Context(), []string{"serve"}, env(vars), io.Discard, io.Discard, tc.options...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want %s", tc.name, err, tc.want)
		}
	}
}
