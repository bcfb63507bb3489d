// Tests of callbacks, as a provider reads them.

package rest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

var signed = map[string]any{"callback.hmac_sha256": map[string]any{"header": "X-Signature", "secret": "${secret.HOOK}"}}

// withSignature adds the section callback to changes.
func withSignature(changes map[string]any) map[string]any {
	all := map[string]any{}
	for _, m := range []map[string]any{signed, changes} {
		for path, v := range m {
			all[path] = v
		}
	}
	return all
}

func TestACallbackIsVerified(t *testing.T) {
	v := &remote{url: "https://api.vendor.example", t: t}
	body := []byte(`{"result":"VALID","score":0.7}`)
	mac := hmac.New(sha256.New, []byte(hookKey))
	mac.Write(body)
	sum := mac.Sum(nil)
	static := map[string]any{"callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"}, "poll": nil}
	for _, tt := range []struct {
		name          string
		changes       map[string]any
		header, value string
		refused       string // why; empty for a genuine callback
	}{
		{"hexadecimal", withSignature(map[string]any{"poll": nil}), "X-Signature", hex.EncodeToString(sum), ""},
		{"base64", withSignature(map[string]any{"poll": nil}), "X-Signature", base64.StdEncoding.EncodeToString(sum), ""},
		{"prefix", withSignature(map[string]any{"poll": nil}), "X-Signature", "sha256=" + hex.EncodeToString(sum), ""},
		{"no header", withSignature(map[string]any{"poll": nil}), "X-Other", hex.EncodeToString(sum), "it has no header X-Signature"},
		{"empty", withSignature(map[string]any{"poll": nil}), "X-Signature", "", "it has no header X-Signature"},
		{"short", withSignature(map[string]any{"poll": nil}), "X-Signature", hex.EncodeToString(sum[:16]), "the signature in X-Signature does not match"},
		{"other body", withSignature(map[string]any{"poll": nil}), "X-Signature", hex.EncodeToString(make([]byte, 32)), "the signature in X-Signature does not match"},
		{"static", static, "X-Key", hookKey, ""},
		{"static, wrong", static, "X-Key", hookKey + "x", "the value of X-Key does not match"},
		{"static, missing", static, "X-Other", hookKey, "it has no header X-Key"},
	} {
		p, ok := v.provider(tt.changes).(verification.CallbackReceiver)
		if !ok {
			t.Fatalf("%s: the provider receives no callbacks", tt.name)
		}
		got, err := p.ReceiveCallback(t.Context(), verification.PollRequest{CheckRequest: request("callback")},
			verification.Callback{Header: map[string][]string{tt.header: {tt.value}}, Body: body})
		if tt.refused != "" {
			if !errors.Is(err, verification.ErrUnauthenticated) || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v, want it refused: %s", tt.name, err, tt.refused)
			}
			continue
		}
		want := verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"name_match": 0.7}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestACallbackThatNoConditionMatchesIsInvalid(t *testing.T) {
	v := &remote{url: "https://api.vendor.example", t: t}
	p, ok := v.provider(map[string]any{
		"callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"}, "poll": nil,
	}).(verification.CallbackReceiver)
	if !ok {
		t.Fatal("the provider receives no callbacks")
	}
	for _, body := range []string{"", "not JSON " + canary, `{"result":"` + canary + `"}`, `{"result":"VALID"}`, `[]`} {
		_, err := p.ReceiveCallback(t.Context(), verification.PollRequest{CheckRequest: request("callback")},
			verification.Callback{Header: map[string][]string{"X-Key": {hookKey}}, Body: []byte(body)})
		if !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("%s: %v, want it invalid", body, err)
		}
	}
}

func TestAProviderWithoutACallbackSectionReceivesNone(t *testing.T) {
	v := &remote{url: "https://api.vendor.example", t: t}
	if _, ok := v.provider(nil).(verification.CallbackReceiver); ok {
		t.Error("the provider receives callbacks")
	}
}
