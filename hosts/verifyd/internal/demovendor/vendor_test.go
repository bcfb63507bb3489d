// Tests of the requests that the vendor refuses, and of results that are fetched. The tests of the
// host test the callbacks.

package demovendor_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
)

func TestTheVendorAcceptsOnlyItsToken(t *testing.T) {
	v := &demovendor.Vendor{Token: "token", Hook: "hook", Clock: clock.NewManual(clock.System{}.Now()), Log: slog.New(slog.DiscardHandler)}
	const complete = `{"pan":"ABCPR1234F","name":"Asha Rao","notify":"http://127.0.0.1:1/callbacks/x"}`
	for _, tc := range []struct {
		method, path, token, body string
		want                      int
	}{
		{http.MethodPost, "/v1/holders", "token", complete, http.StatusAccepted},
		{http.MethodPost, "/v1/holders", "other", complete, http.StatusUnauthorized},
		{http.MethodPost, "/v1/holders", "token", `{"pan":"ABCPR1234F"}`, http.StatusBadRequest},
		{http.MethodPost, "/v1/holders", "token", strings.Repeat(" ", 1<<20), http.StatusBadRequest},
		{http.MethodPost, "/v1/holders/result", "token", `{"pan":"ABCPR1234F"}`, http.StatusOK},
		{http.MethodPost, "/v1/holders/result", "other", `{"pan":"ABCPR1234F"}`, http.StatusUnauthorized},
		{http.MethodPost, "/v1/holders/result", "token", `{}`, http.StatusBadRequest},
		{http.MethodGet, "/v1/holders/result", "token", "", http.StatusNotFound},
		{http.MethodGet, "/v1/holders", "token", "", http.StatusNotFound},
		{http.MethodPost, "/v1/other", "token", complete, http.StatusNotFound},
		{http.MethodPost, "/v1/sign-ins", "token", `{"name":"Asha Rao","return_to":"http://127.0.0.1:1/back"}`, http.StatusOK},
		{http.MethodPost, "/v1/sign-ins", "other", `{"name":"Asha Rao","return_to":"http://127.0.0.1:1/back"}`, http.StatusUnauthorized},
		{http.MethodPost, "/v1/sign-ins", "token", `{"name":"Asha Rao"}`, http.StatusBadRequest},
		{http.MethodGet, "/v1/sign-ins/e30", "token", "", http.StatusBadRequest},
		{http.MethodPut, "/v1/sign-ins", "token", "", http.StatusNotFound},
		{http.MethodGet, "/sign-in/e30", "", "", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, strings.NewReader(tc.body))
		r.Header.Set("Authorization", "Bearer "+tc.token)
		v.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("%s %s with %s = %d, want %d", tc.method, tc.path, tc.token, w.Code, tc.want)
		}
	}
}
