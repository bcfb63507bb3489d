package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/provider/sandbox"
	"github.com/verifyd/verifyd/verification"
)

// naps is a sleep that takes no time and records the durations.
type naps []time.Duration

func (n *naps) sleep(ctx context.Context, d time.Duration) error {
	*n = append(*n, d)
	return ctx.Err()
}

// request is dispatch number one of the check "pan" with a script.
func request(script string) verification.CheckRequest {
	return requestOf(`{"name":"Asha","sandbox":{"other":"fail","pan":` + script + `}}`)
}

func requestOf(input string) verification.CheckRequest {
	return verification.CheckRequest{Key: "pan", Dispatch: 1, Input: verification.Data(input)}
}

func isPermanent(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}

// oneLine returns a result as one line.
func oneLine(r verification.CheckResult, err error) string {
	if err != nil {
		if isPermanent(err) {
			return "permanent: " + err.Error()
		}
		return "transient: " + err.Error()
	}
	line := string(r.Outcome)
	if r.Handle != "" {
		line += " handle=" + r.Handle
	}
	if r.Data != nil {
		raw, err := json.Marshal(r.Data)
		if err != nil {
			return err.Error()
		}
		line += " " + string(raw)
	}
	return line
}

func TestEachScriptIsPlayed(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{`"pass"`, "passed"},
		{`"fail"`, "failed"},
		{`"no_coverage"`, "no_coverage"},
		{`"inconclusive"`, "inconclusive"},
		{`{"outcome":"no_coverage","data":{"asked":"UK"}}`, `no_coverage {"asked":"UK"}`},
		{`"unavailable"`, "permanent: pan is unavailable, as its script says"},
		{`"flaky:0"`, "passed"},
		{`"flaky:1"`, "transient: dispatch 1 of pan goes unanswered, as its script says"},
		{`"slow:500ms"`, "passed"},
		{`"slow:1h30m"`, "passed"},
		{`"slow:0"`, "passed"},
		{`"pending:0"`, "passed"},
		{`"pending:2"`, "pending handle=2"},
		{`"\u0070ass"`, "passed"},

		{`{"outcome":"pass"}`, "passed"},
		{`{"outcome":"pass","data":null}`, "passed"},
		{`{"outcome":"pass","data":{}}`, "passed {}"},
		{`{"outcome":"pass","data":{"source_ok":false}}`, `passed {"source_ok":false}`},
		{`{"data":{"name_match":0.5,"tags":["a",{"b":null}]},"outcome":"fail"}`, `failed {"name_match":0.5,"tags":["a",{"b":null}]}`},
		{`{"outcome":"pass","data":{"id":12345678901234567890,"amount":1.10}}`, `passed {"amount":1.10,"id":12345678901234567890}`},
		{`{"outcome":"slow:1s","data":{"a":1}}`, `passed {"a":1}`},
		{`{"outcome":"flaky:0","data":{"a":1}}`, `passed {"a":1}`},
		{`{"outcome":"flaky:1","data":{"a":1}}`, "transient: dispatch 1 of pan goes unanswered, as its script says"},
		{`{"outcome":"pending:0","data":{"a":1}}`, `passed {"a":1}`},
		{`{"outcome":"pending:1","data":{"a":1}}`, "pending handle=1"},
		{`{"outcome":"unavailable","data":{"a":1}}`, "permanent: pan is unavailable, as its script says"},
	} {
		got := oneLine(sandbox.New(new(naps).sleep).Check(t.Context(), request(tt.script)))
		if got != tt.want {
			t.Errorf("Check with %s = %s, want %s", tt.script, got, tt.want)
		}
	}
}

func TestABadScriptIsAPermanentErrorThatNamesTheProblem(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{`""`, `is "": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`"passed"`, `is "passed": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`"PASS"`, `is "PASS": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`" pass"`, `is " pass": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`"pass:1"`, `is "pass:1": pass takes no number`},
		{`"fail:"`, `is "fail:": fail takes no number`},
		{`"no_coverage:1"`, `is "no_coverage:1": no_coverage takes no number`},
		{`"unavailable:3"`, `is "unavailable:3": unavailable takes no number`},
		{`"flaky"`, `is "flaky": write flaky:N with a whole number, such as flaky:2`},
		{`"flaky:"`, `is "flaky:": write flaky:N with a whole number, such as flaky:2`},
		{`"flaky:-1"`, `is "flaky:-1": write flaky:N with a whole number, such as flaky:2`},
		{`"flaky:1.5"`, `is "flaky:1.5": write flaky:N with a whole number, such as flaky:2`},
		{`"flaky:99999999999"`, `is "flaky:99999999999": write flaky:N with a whole number, such as flaky:2`},
		{`"pending:two"`, `is "pending:two": write pending:N with a whole number, such as pending:2`},
		{`"pending:1:2"`, `is "pending:1:2": write pending:N with a whole number, such as pending:2`},
		{`"redirect:/login"`, `is "redirect:/login": write redirect:URL with an absolute URL, such as redirect:https://login.bank.example/`},
		{`"slow"`, `is "slow": write slow:T with a time, such as slow:500ms`},
		{`"slow:5"`, `is "slow:5": write slow:T with a time, such as slow:500ms`},
		{`"slow:-1s"`, `is "slow:-1s": write slow:T with a time, such as slow:500ms`},
		{`"` + fmt.Sprintf("%0100d", 0) + `"`, `is "0000000000000000000000000000000000000000...": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`null`, "must be a string or an object"},
		{`true`, "must be a string or an object"},
		{`3`, "must be a string or an object"},
		{`["pass"]`, "must be a string or an object"},
		{`{}`, "must have an outcome that is a string"},
		{`{"data":{"a":1}}`, "must have an outcome that is a string"},
		{`{"outcome":null}`, "must have an outcome that is a string"},
		{`{"outcome":{"outcome":"pass"}}`, "must have an outcome that is a string"},
		{`{"outcome":"maybe"}`, `is "maybe": it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL`},
		{`{"outcome":"pass","data":"text"}`, "must have data that is an object"},
		{`{"outcome":"pass","data":[1]}`, "must have data that is an object"},
		{`{"outcome":"pass","dta":{}}`, `has the unknown field "dta": it may have outcome and data`},
		{`{"Outcome":"pass"}`, `has the unknown field "Outcome": it may have outcome and data`},
	} {
		p := sandbox.New(new(naps).sleep)
		want := "permanent: input.sandbox.pan " + tt.want
		if got := oneLine(p.Check(t.Context(), request(tt.script))); got != want {
			t.Errorf("Check with %s = %s, want %s", tt.script, got, want)
		}
		if got := oneLine(p.Poll(t.Context(), verification.PollRequest{CheckRequest: request(tt.script), Handle: "1"})); got != want {
			t.Errorf("Poll with %s = %s, want %s", tt.script, got, want)
		}
	}
}

func TestACheckWithoutScriptPasses(t *testing.T) {
	for _, tt := range []struct{ input, want string }{
		{``, "passed"},
		{`{}`, "passed"},
		{`{"name":"Asha"}`, "passed"},
		{`{"provider":"sandbox"}`, "passed"},
		{`{"nested":{"sandbox":{"pan":"fail"}}}`, "passed"},
		{`{"Sandbox":{"pan":"fail"}}`, "passed"},
		{`{"sandbox":{}}`, "passed"},
		{`{"sandbox":{"PAN":"fail"}}`, "passed"},
		{`{"text":"a \" and a \\"}`, "passed"},

		{`{"sand\u0062ox":{"p\u0061n":"fail"}}`, "failed"},
		{`{"sandbox":"fail"}`, "permanent: input.sandbox must be an object"},
		{`{"sandbox":["fail"]}`, "permanent: input.sandbox must be an object"},
		{`{"sandbox":null}`, "permanent: input.sandbox must be an object"},
	} {
		if got := oneLine(sandbox.New(new(naps).sleep).Check(t.Context(), requestOf(tt.input))); got != tt.want {
			t.Errorf("Check with input %s = %s, want %s", tt.input, got, tt.want)
		}
	}
}

func TestFlakyFailsAsOftenAsItsScriptSays(t *testing.T) {
	var got []string
	for dispatch := 1; dispatch <= 4; dispatch++ {
		r := request(`{"outcome":"flaky:2","data":{"a":1}}`)
		r.Dispatch = dispatch
		got = append(got, oneLine(sandbox.New(new(naps).sleep).Check(t.Context(), r)))
	}
	want := []string{
		"transient: dispatch 1 of pan goes unanswered, as its script says",
		"transient: dispatch 2 of pan goes unanswered, as its script says",
		`passed {"a":1}`,
		`passed {"a":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dispatches of flaky:2 differ (-want +got):\n%s", diff)
	}
}

func TestPendingIsPolledAsOftenAsItsScriptSays(t *testing.T) {
	r := request(`{"outcome":"pending:3","data":{"a":1}}`)
	result, err := sandbox.New(new(naps).sleep).Check(t.Context(), r)
	got := []string{oneLine(result, err)}
	for result.Outcome == verification.OutcomePending {
		poll := verification.PollRequest{CheckRequest: r, Handle: result.Handle}
		// A new provider each time: another host may poll.
		result, err = sandbox.New(new(naps).sleep).Poll(t.Context(), poll)
		got = append(got, oneLine(result, err))
	}
	want := []string{"pending handle=3", "pending handle=2", "pending handle=1", `passed {"a":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers of pending:3 differ (-want +got):\n%s", diff)
	}
}

func TestPollIsRefusedWithoutAPendingResult(t *testing.T) {
	for _, tt := range []struct{ script, handle string }{
		{`"pass"`, "1"},
		{`"pending:0"`, "0"},
		{`"pending:2"`, ""},
		{`"pending:2"`, "0"},
		{`"pending:2"`, "3"},
		{`"pending:2"`, "-1"},
		{`"pending:2"`, "one"},
	} {
		r := verification.PollRequest{CheckRequest: request(tt.script), Handle: tt.handle}
		got := oneLine(sandbox.New(new(naps).sleep).Poll(t.Context(), r))
		if want := "permanent: pan has no pending result with this handle"; got != want {
			t.Errorf("Poll of %s with handle %q = %s, want %s", tt.script, tt.handle, got, want)
		}
	}
}

func TestSlowSleepsOnTheGivenClock(t *testing.T) {
	var n naps
	p := sandbox.New(n.sleep)
	for _, script := range []string{`"slow:500ms"`, `"pass"`, `{"outcome":"slow:1h"}`} {
		if got := oneLine(p.Check(t.Context(), request(script))); got != "passed" {
			t.Errorf("Check with %s = %s, want passed", script, got)
		}
	}
	if diff := cmp.Diff(naps{500 * time.Millisecond, time.Hour}, n); diff != "" {
		t.Errorf("sleeps differ (-want +got):\n%s", diff)
	}
}

func TestSlowEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sandbox.New(new(naps).sleep).Check(ctx, request(`"slow:1h"`))
	if !errors.Is(err, context.Canceled) || isPermanent(err) {
		t.Errorf("Check with slow:1h = %v (permanent: %v), want a transient %v", err, isPermanent(err), context.Canceled)
	}
}

// FuzzScript tries any text as a script, and as a whole input.
func FuzzScript(f *testing.F) {
	for _, script := range []string{
		`"pass"`, `"fail"`, `"unavailable"`, `"flaky:2"`, `"slow:500ms"`, `"pending:2"`, `null`, ` 1`, `"`, `}`,
		`{"outcome":"pending:2","data":{"a":[1e400]}}`, `{"outcome":"pass","data":[]}`, `"pass","pan":"fail"`,
		`{"0":"","":{}}`,
	} {
		f.Add(script)
	}
	pass := regexp.MustCompile(`"(pass|flaky:0+|slow:[^"]*|pending:[0-9]+)"`)
	f.Fuzz(func(t *testing.T, script string) {
		p := sandbox.New(new(naps).sleep)
		if _, err := p.Check(t.Context(), requestOf(script)); err != nil && len(err.Error()) > 500 {
			t.Errorf("Check with input %q: the error has %d characters", script, len(err.Error()))
		}
		if !json.Valid([]byte(script)) {
			return
		}
		r := request(script)
		first, err := p.Check(t.Context(), r)
		if again := oneLine(p.Check(t.Context(), r)); again != oneLine(first, err) {
			t.Errorf("Check with %s = %s, then %s", script, oneLine(first, err), again)
		}
		if err != nil {
			return
		}
		if first.Outcome == verification.OutcomePassed {
			var text string
			if json.Unmarshal([]byte(script), &text) == nil && !pass.MatchString(`"`+text+`"`) {
				t.Errorf("Check with %s passed", script)
			}
		}
		if first.Outcome == verification.OutcomePending {
			result, err := p.Poll(t.Context(), verification.PollRequest{CheckRequest: r, Handle: first.Handle})
			if err != nil || result.Handle == first.Handle {
				t.Errorf("Poll with %s = %s", script, oneLine(result, err))
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for name, r := range map[string]verification.CheckRequest{
		"unscripted": requestOf(`{"name":"Asha","address":{"city":"Mumbai","pin":"400001"},"documents":[1,2,3]}`),
		"pass":       request(`"pass"`),
		"data":       request(`{"outcome":"pass","data":{"name_match":0.93,"source_ok":true}}`),
	} {
		b.Run(name, func(b *testing.B) {
			p := sandbox.New(new(naps).sleep)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Check(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestACustomerIsLedAwayUntilTheReturn(t *testing.T) {
	const back = "https://verify.example/journey/back/4711"
	r := request(`{"outcome":"redirect:https://login.bank.example/?step=1","data":{"iban":"DE00"}}`)
	r.ReturnURL = back
	p, poll := sandbox.New(new(naps).sleep), verification.PollRequest{CheckRequest: r}
	first, err := p.Check(t.Context(), r)
	if err != nil || first.Outcome != verification.OutcomeRedirect || first.Redirect != "https://login.bank.example/?return_url="+url.QueryEscape(back)+"&step=1" {
		t.Errorf("the check leads to %+v, %v", first, err)
	}
	if again, err := p.Poll(t.Context(), poll); err != nil || again.Outcome != first.Outcome || again.Redirect != first.Redirect {
		t.Errorf("a poll leads to %+v, %v, want the same", again, err)
	}
	for parameters, want := range map[string]string{"": `passed {"iban":"DE00"}`, "error": `failed {"iban":"DE00"}`, "code": `passed {"iban":"DE00"}`} {
		if got := oneLine(p.ReceiveReturn(t.Context(), poll, map[string]string{parameters: "x"})); got != want {
			t.Errorf("a return with %q reports %s, want %s", parameters, got, want)
		}
	}
}
