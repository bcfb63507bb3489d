// Tests of what a customer reads behind a link.

package journey_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/journey"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/verificationtest"
)

func TestALinkLeadsToAPageThatSaysWhereTheRunStands(t *testing.T) {
	k := verificationtest.New(t)
	pages, err := journey.Handler(k.Engine, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	workflow := k.Apply(verification.Definition{
		Workflow: "onboarding", Name: "Onboarding", Start: "consent", RunTTLSeconds: 3600,
		Nodes: map[verification.NodeID]verification.Node{
			"consent": {Type: verification.NodeConsent, Text: "We will check your PAN.", Next: "pan"},
			"pan":     {Type: verification.NodeCheck, Provider: "script", Next: "done"},
			"done":    {Type: verification.NodeEnd},
		},
	})
	begin := func() verification.RunDetail {
		return k.Start(workflow.ID, engine.StartRequest{ReferenceID: "person-1"})
	}
	consent := map[string]any{"consent_status": "success"}
	rows := []struct {
		name   string
		then   func(verification.RunDetail)
		status int
		words  string
	}{
		{"open", func(verification.RunDetail) {}, http.StatusOK, "waiting for you"},
		{"cancelled", func(r verification.RunDetail) {
			if _, err := k.Engine.Cancel(t.Context(), verificationtest.Tenant, r.ID); err != nil {
				t.Fatal(err)
			}
		}, http.StatusGone, "was cancelled"},
		{"finished", func(r verification.RunDetail) { k.Submit(r.ID, "consent_submitted", consent) }, http.StatusGone, "is finished"},
		{"failed", func(r verification.RunDetail) {
			k.Provider.On("pan", verificationtest.Fail(nil))
			k.Submit(r.ID, "consent_submitted", consent)
			k.Provider.On("pan")
		}, http.StatusGone, "is finished"},
		{"done step of a live run", func(r verification.RunDetail) {
			k.Provider.On("pan", verificationtest.Flake())
			k.Submit(r.ID, "consent_submitted", consent)
			k.Provider.On("pan")
		}, http.StatusOK, "We are checking"},
		{"expired", func(verification.RunDetail) { k.Advance(time.Hour + time.Second) }, http.StatusGone, "has expired"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := begin()
			row.then(r)
			status, header, page := get(t, pages, strings.TrimPrefix(r.Action.URL, "http://journey.example/journey"))
			if status != row.status || !strings.Contains(page, row.words) || !strings.Contains(page, "<p>Test</p>") {
				t.Errorf("page = %d %s, want %d with %q and the tenant's name", status, page, row.status, row.words)
			}
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
	for _, token := range []string{"/x", "/" + strings.Repeat("a", 5000), "/%00"} {
		if status, _, page := get(t, pages, token); status != http.StatusNotFound || !strings.Contains(page, "does not work") {
			t.Errorf("a wrong link = %d %s, want 404", status, page)
		}
	}
}

func get(t *testing.T, h http.Handler, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Header(), w.Body.String()
}
