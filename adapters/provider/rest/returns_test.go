package rest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/verification"
)

const leading = `{
	"type": "rest", "base_url": "%URL%",
	"request": {"path": "/sessions", "json": {"back": "${request.return_url}"}},
	"response": {"redirect": "response.body.url", "handle": "response.body.id", "passed": "response.body.state == 'done'", "pending": "response.body.state == 'open'"},
	"poll": {"path": "/sessions/${handle}", "every_seconds": 2},
	"return": {"failed": "parameters.error == 'access_denied'", "pending": "parameters.code != ''"}
}`

func TestAVendorLeadsTheCustomerAway(t *testing.T) {
	var back string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"state":"done"}`)
			return
		}
		var sent struct{ Back string }
		_ = json.NewDecoder(r.Body).Decode(&sent)
		back = sent.Back
		_, _ = io.WriteString(w, `{"state":"open","id":"s1","url":"https://login.vendor.example/s1"}`)
	}))
	defer server.Close()
	p, err := rest.New("vendor", verification.Data(strings.ReplaceAll(leading, "%URL%", server.URL)), rest.Options{
		Expressions: expression.New(), Secret: secrets, AllowPrivateNetworks: true, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := request("away")
	r.ReturnURL = "https://verify.example/journey/back/state"
	got, err := p.Check(t.Context(), r)
	want := verification.CheckResult{
		Outcome: verification.OutcomeRedirect, Redirect: "https://login.vendor.example/s1", Handle: "s1", PollAfter: 2 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || back != r.ReturnURL {
		t.Errorf("Check = %v, with the return URL %q (-want +got):\n%s", err, back, diff)
	}
	poll := verification.PollRequest{CheckRequest: r, Handle: "s1"}
	if got, err := p.Poll(t.Context(), poll); err != nil || got.Outcome != verification.OutcomePassed {
		t.Errorf("Poll = %+v, %v, want passed", got, err)
	}
	receiver, ok := p.(verification.ReturnReceiver)
	if !ok {
		t.Fatal("the provider receives no returns")
	}
	for _, c := range []struct {
		parameters map[string]string
		want       verification.CheckOutcome
	}{
		{map[string]string{"code": "1"}, verification.OutcomePending},
		{map[string]string{"error": "access_denied"}, verification.OutcomeFailed},
	} {
		if got, err := receiver.ReceiveReturn(t.Context(), poll, c.parameters); err != nil || got.Outcome != c.want {
			t.Errorf("%v: %+v, %v, want %s", c.parameters, got, err, c.want)
		}
	}
	if _, err := receiver.ReceiveReturn(t.Context(), poll, map[string]string{"result": "passed"}); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("a return without meaning: %v, want ErrInvalid", err)
	}
}

func TestAReturnIsTrueOrFalseOrAnError(t *testing.T) {
	for _, row := range []struct{ failed, pending, outcome, err string }{
		{"has(parameters.error)", "has(parameters.code)", "failed", ""},
		{"has(parameters.nothing)", "has(parameters.code)", "pending", ""},
		{"parameters.nothing", "has(parameters.code)", "pending", ""}, // what is missing does not hold
		{"parameters.error", "true", "", "return.failed must be true or false"},
		{"false", "parameters.code", "", "return.pending must be true or false"},
		{"parameters.code > 5", "true", "", "return.failed: "},
	} {
		text := strings.ReplaceAll(leading, "%URL%", "https://vendor.example")
		text = strings.ReplaceAll(text, "parameters.error == 'access_denied'", row.failed)
		text = strings.ReplaceAll(text, "parameters.code != ''", row.pending)
		p, err := rest.New("vendor", verification.Data(text), rest.Options{Expressions: expression.New(), Secret: secrets, Now: time.Now})
		if err != nil {
			t.Fatalf("%s: %v", row.failed, err)
		}
		receiver, ok := p.(verification.ReturnReceiver)
		if !ok {
			t.Fatal("the provider receives no returns")
		}
		got, err := receiver.ReceiveReturn(t.Context(), verification.PollRequest{}, map[string]string{"code": "1", "error": "access_denied"})
		if row.err == "" && (err != nil || string(got.Outcome) != row.outcome) || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("failed: %s, pending: %s: %+v, %v, want %s%s", row.failed, row.pending, got, err, row.outcome, row.err)
		}
	}
}
