// Tests of the whole host.

package server_test

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/verification"
)

// served is a host that runs inside the test.
type served struct {
	t          *testing.T
	api, admin string
	store      string
	stop       context.CancelFunc
	ended      chan error
	stderr     *syncBuffer
}

// syncBuffer may be written and read by several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (q *syncBuffer) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

func (q *syncBuffer) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.String()
}

// env is an environment as os.Environ has it. A host is on free ports, because the default ports
// may be taken, and in memory unless the environment names another store.
func env(pairs map[string]string) []string {
	environ := []string{"VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0"} // the last value of a name counts
	if pairs["VERIFYD_DATABASE_URL"] == "" && pairs["VERIFYD_DATA_DIR"] == "" {
		environ = append(environ, "VERIFYD_MEMORY=true")
	}
	for name, value := range pairs {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// serveHost starts a host on free ports and waits for its ready line.
func serveHost(t *testing.T, vars map[string]string, options ...server.Option) *served {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	read, write := io.Pipe()
	s := &served{t: t, stop: stop, ended: make(chan error, 1), stderr: &syncBuffer{}}
	go func() {
		s.ended <- server.Run(ctx, []string{"serve"}, env(vars), write, s.stderr, options...)
		_ = write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %v; %v", err, <-s.ended)
	}
	ready := regexp.MustCompile(`^verifyd ready api=(http://127\.0\.0\.1:\d+|none) admin=(http://127\.0\.0\.1:\d+) store=(memory|postgres|journal dir=\S+ runs=\d+ recovered=\d+(?: unreadable_bytes=\d+ kept=\S+)?)\n$`)
	found := ready.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("ready line = %q", line)
	}
	s.api, s.admin, s.store = found[1], found[2], found[3]
	go func() {
		if more, _ := io.ReadAll(read); len(more) > 0 {
			t.Errorf("more than one line on stdout: %q", more)
		}
	}()
	t.Cleanup(func() { _ = s.end() })
	return s
}

// end stops the host as SIGTERM does, and returns what run returned.
func (s *served) end() error {
	s.stop()
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(2 * time.Minute):
		s.t.Fatal("the host did not stop")
		return nil
	}
}

// call sends a request with the demo's credentials.
func (s *served) call(method, url, body string, headers ...string) (int, []byte, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("client-id", "demo")
	r.Header.Set("x-api-key", "demo-key-for-local-use-only")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, raw, answer.Header
}

type runJSON struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Action *struct {
		Type       string `json:"type"`
		SignalName string `json:"signal_name"`
		URL        string `json:"url"`
	} `json:"action_required"`
	Decision *string           `json:"decision"`
	Checks   []json.RawMessage `json:"checks"`
}

func (s *served) run(method, url, body string, headers ...string) runJSON {
	s.t.Helper()
	status, raw, _ := s.call(method, url, body, headers...)
	var r runJSON
	if err := json.Unmarshal(raw, &r); err != nil || status >= 300 {
		s.t.Fatalf("%s %s = %d %s", method, url, status, raw)
	}
	return r
}

// await reads a run until it is as a test wants it.
func (s *served) await(id string, as func(runJSON) bool) runJSON {
	s.t.Helper()
	tick, timeout := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		r := s.run("GET", s.api+"/v1/runs/"+id, "")
		if as(r) {
			return r
		}
		select {
		case <-tick.C:
		case <-timeout:
			s.t.Fatalf("after a minute the run is %+v", r)
		}
	}
}

// The answers of customers of the demo: one who passes, and one who is on its list.
const (
	clean  = `{"payload":{"name":"Asha Rao","dob":"1990-04-01","pan":"ABCPR1234F"}}`
	listed = `{"payload":{"name":"Victor Zamoyskov","dob":"1961-03-14","pan":"ABCPZ4321Z"}}`
)

const (
	records    = "/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs"
	onboarding = "/v1/workflows/0191f3c0-0000-7000-8000-000000000002/runs"
)

func TestTheDemoGoesFromStartToAPDF(t *testing.T) {
	s := serveHost(t, nil)
	if got := s.stderr.String(); !strings.Contains(got, "A="+s.api+"/v1;") || strings.Contains(got, "whsec_") || strings.Contains(got, "webhook secret") {
		t.Errorf("stderr = %s, want what to try, and nothing about a webhook secret", s.stderr)
	}
	r := s.run("POST", s.api+records, `{"reference_id":"person-1"}`, "Prefer", "wait=10")
	if r.Status != "completed" {
		t.Fatalf("run = %+v, want completed", r)
	}
	status, raw, header := s.call("GET", s.api+"/v1/runs/"+r.ID+"/report.pdf", "")
	if status != 200 || header.Get("Content-Type") != "application/pdf" || !bytes.HasPrefix(raw, []byte("%PDF-")) {
		t.Errorf("report = %d %v, %d bytes", status, header, len(raw))
	}
	_, signature, _ := s.call("GET", s.api+"/v1/runs/"+r.ID+"/report.pdf.jws", "")
	_, set, _ := s.call("GET", s.api+"/.well-known/jwks.json", "")
	keys, err := jwk.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jws.Verify(signature, jws.WithKeySet(keys), jws.WithDetachedPayload(raw)); err != nil {
		t.Errorf("the signature %s does not verify with %s: %v", signature, set, err)
	}
}

func TestTheDemoTakesItsCustomerAndItsReviewerAlong(t *testing.T) {
	s := serveHost(t, nil)
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-2","redirect_uri":"https://app.acme.example/verify/done"}`)
	if r.Action == nil || !strings.HasPrefix(r.Action.URL, s.api+"/journey/") {
		t.Fatalf("start = %+v, want a journey link", r)
	}
	if status, page, header := s.call("GET", r.Action.URL, ""); status != 200 || !bytes.Contains(page, []byte("Acme Demo")) ||
		header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("journey page = %d %v %s", status, header, page)
	}
	signal := s.api + "/v1/signals/" + r.ID + "/"
	s.call("POST", signal+r.Action.SignalName, `{"payload":{"consent_status":"success"}}`)
	status, answer, _ := s.call("POST", signal+"details_submitted", listed)
	if status != 200 {
		t.Fatalf("details = %d %s", status, answer)
	}
	parked := s.await(r.ID, func(r runJSON) bool { return r.Action != nil })
	if parked.Action.Type != "review" || parked.Decision == nil || *parked.Decision != "review" {
		t.Fatalf("run = %+v, want it parked on review", parked)
	}
	status, answer, _ = s.call("POST", signal+"human_review_decision", `{"payload":{"decision":"approve","notes":"seen in person"}}`)
	if want := `{"ok":true,"result":"signal_delivered","decision":"approve"}`; status != 200 || strings.TrimSpace(string(answer)) != want {
		t.Errorf("verdict = %d %s, want %s", status, answer, want)
	}
	onward := "https://app.acme.example/verify/done?run_id=" + r.ID + "&status=completed"
	if status, _, header := s.call("GET", r.Action.URL, ""); status != http.StatusSeeOther || header.Get("Location") != onward {
		t.Errorf("link of the finished run = %d to %q, want 303 to %s", status, header.Get("Location"), onward)
	}
	status, doc, _ := s.call("GET", s.api+"/v1/runs/"+r.ID+"/report.pdf", "")
	if status != http.StatusOK || !printed(t, doc, "Manual review") || printed(t, doc, "seen in person") {
		t.Errorf("report.pdf = %d, want the review step without its notes", status)
	}
	status, doc, _ = s.call("GET", s.api+"/v1/runs/"+r.ID+"/report.pdf?for=file", "")
	if status != http.StatusForbidden || !strings.Contains(string(doc), "not authorized for this surface") {
		t.Errorf("report.pdf?for=file = %d %.100s, want 403: the account has no surface files", status, doc)
	}
}

func TestTheDemoChecksNothingWithoutConsent(t *testing.T) {
	s := serveHost(t, nil)
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-3"}`)
	link := r.Action.URL
	s.call("POST", s.api+"/v1/signals/"+r.ID+"/"+r.Action.SignalName, `{"payload":{"consent_status":"declined"}}`)
	if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); r.Status != "completed" || r.Checks != nil || r.Decision == nil || *r.Decision != "review" {
		t.Errorf("run = %+v, want it completed without a check, and flagged", r)
	}
	if status, page, _ := s.call("GET", link, ""); status != http.StatusOK || !bytes.Contains(page, []byte("You did not agree")) || !bytes.Contains(page, []byte("We did not check anything.")) {
		t.Errorf("page = %d %s, want it to say that nothing was checked", status, page)
	}
}

func TestTheDemoChecksWhatItsCustomerTyped(t *testing.T) {
	s := serveHost(t, nil)
	for name, tc := range map[string]struct {
		details  string
		status   string
		decision string // "" for none
		failed   string // the checks that did not pass
	}{
		"a customer without a problem":        {clean, "completed", "", ""},
		"a name on the list":                  {listed, "in_progress", "review", ""},
		"a minor":                             {`{"payload":{"name":"Asha Rao","dob":"2015-04-01","pan":"ABCPR1234F"}}`, "completed", "", "age"},
		"the PAN of a company":                {`{"payload":{"name":"Asha Rao","dob":"1990-04-01","pan":"ABCCR1234F"}}`, "in_progress", "review", "pan_structure"},
		"the PAN of another person":           {`{"payload":{"name":"Asha Rao","dob":"1990-04-01","pan":"ABCPK4321K"}}`, "in_progress", "review", "name_match"},
		"a PAN that the registry has not got": {`{"payload":{"name":"Asha Rao","dob":"1990-04-01","pan":"ZZZPR1234F"}}`, "in_progress", "review", "pan_registry"},
	} {
		r := s.run("POST", s.api+onboarding, `{"reference_id":"person-5"}`)
		signal := s.api + "/v1/signals/" + r.ID + "/"
		s.call("POST", signal+"consent_submitted", `{"payload":{"consent_status":"success"}}`)
		if status, answer, _ := s.call("POST", signal+"details_submitted", tc.details); status != http.StatusOK {
			t.Fatalf("%s: details = %d %s", name, status, answer)
		}
		r = s.await(r.ID, func(r runJSON) bool { return r.Status != "in_progress" || r.Decision != nil })
		decision, failed := "", []string{}
		if r.Decision != nil {
			decision = *r.Decision
		}
		for _, raw := range r.Checks {
			var c struct{ Key, Status string }
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			if c.Status != "passed" {
				failed = append(failed, c.Key)
			}
		}
		if r.Status != tc.status || decision != tc.decision || strings.Join(failed, " ") != tc.failed {
			t.Errorf("%s: %s, decision %q, failed checks %v; want %s, %q, [%s]", name, r.Status, decision, failed, tc.status, tc.decision, tc.failed)
		}
	}
}

func TestTheVendorOfTheDemoCallsBackByAManualClock(t *testing.T) {
	s := serveHost(t, map[string]string{"VERIFYD_CLOCK": "manual"})
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-6"}`)
	signal := s.api + "/v1/signals/" + r.ID + "/"
	s.call("POST", signal+"consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.call("POST", signal+"details_submitted", clean)
	for _, step := range []struct {
		body string
		want string
	}{{`{"seconds":0.5}`, "in_progress"}, {`{"seconds":0.5}`, "completed"}} {
		if status, raw, _ := s.call("POST", s.admin+"/clock/advance", step.body); status != http.StatusOK {
			t.Fatalf("advance = %d %s", status, raw)
		}
		if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); r.Status != step.want {
			t.Errorf("the run is %+v, want it %s", r, step.want)
		}
	}
}

// A fallback can be tried without a vendor.
func TestTheHostHasASecondSandboxToFallBackTo(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "bootstrap.yaml")
	bootstrap := `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: fallback
        id: 0191f3c0-0000-7000-8000-000000000009
        name: Fallback
        start: pan
        nodes:
          pan: {type: check, provider: sandbox, retry: {max_dispatches: 2, backoff_seconds: 0.01}, fallback: sandbox_2, next: done}
          done: {type: end}
`
	if err := os.WriteFile(file, []byte(bootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": file})
	r := s.run("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000009/runs",
		`{"reference_id":"person-4","input":{"sandbox":{"pan":"flaky:2"}}}`, "Prefer", "wait=10")
	if r.Status != "completed" {
		t.Errorf("run = %+v, want it completed by the fallback", r)
	}
}

// printed reports whether a PDF shows a text on one line. Its strings are
// UTF-16 inside compressed streams.
func printed(t *testing.T, doc []byte, text string) bool {
	t.Helper()
	var want []byte
	for _, c := range []byte(text) {
		want = append(want, 0, c)
	}
	for part := range bytes.SplitSeq(doc, []byte("\nstream\n")) {
		r, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue // the part before the first stream
		}
		if content, err := io.ReadAll(r); err == nil && bytes.Contains(content, want) {
			return true
		}
	}
	return false
}

func TestATokenIsAcceptedOnTheSignalsRouteAlone(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	set, err := keys.PrivateJWKS()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, set, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_SIGNING_KEY_FILE": file})
	r := s.run("POST", s.api+records, `{"reference_id":"person-7"}`, "Prefer", "wait=10")
	bearer := func(tenant verification.TenantID, method, path, body string) int {
		t.Helper()
		raw, err := reviewer.NewIssuer(keys).Issue(verification.Reviewer{Tenant: tenant, Name: "asha", Role: verification.RoleReviewer}, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		status, _, _ := s.call(method, s.api+path, body, "client-id", "", "x-api-key", "", "Authorization", "Bearer "+raw)
		return status
	}
	const demo, other = "0191f3c0-0000-7000-8000-00000000000a", "0191f3c0-0000-7000-8000-00000000000b"
	verdict := "/v1/signals/" + r.ID + "/human_review_decision"
	for _, row := range []struct {
		tenant             verification.TenantID
		method, path, body string
		want               int
	}{
		{demo, "POST", verdict, `{"payload":{"decision":"approve"}}`, http.StatusOK},
		{other, "POST", verdict, `{"payload":{"decision":"reject"}}`, http.StatusNotFound},
		{demo, "GET", "/v1/runs/" + r.ID, "", http.StatusUnauthorized},
	} {
		if got := bearer(row.tenant, row.method, row.path, row.body); got != row.want {
			t.Errorf("%s %s as %s = %d, want %d", row.method, row.path, row.tenant, got, row.want)
		}
	}
	if read := s.run("GET", s.api+"/v1/runs/"+r.ID, ""); read.Decision == nil || *read.Decision != "approve" {
		t.Errorf("run = %+v, want the reviewer's approval", read)
	}
}

func TestAForgedLinkLeadsNowhere(t *testing.T) {
	s := serveHost(t, nil)
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-3"}`)
	forged := r.Action.URL[:len(r.Action.URL)-1] + "A"
	if forged == r.Action.URL {
		forged = r.Action.URL[:len(r.Action.URL)-1] + "B"
	}
	if status, page, _ := s.call("GET", forged, ""); status != http.StatusNotFound || !bytes.Contains(page, []byte("does not work")) {
		t.Errorf("forged link = %d %s", status, page)
	}
}

func TestTheClockStandsStillUntilItIsTurned(t *testing.T) {
	s := serveHost(t, map[string]string{"VERIFYD_CLOCK": "manual"})
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-4"}`)
	turn := func(seconds int) {
		t.Helper()
		if status, raw, _ := s.call("POST", s.admin+"/clock/advance", fmt.Sprintf(`{"seconds":%d}`, seconds)); status != 200 {
			t.Fatalf("advance = %d %s", status, raw)
		}
	}
	read := func() string { t.Helper(); return s.run("GET", s.api+"/v1/runs/"+r.ID, "").Status }
	turn(900)
	if got := read(); got != "in_progress" {
		t.Errorf("after 15 idle minutes = %s, want in_progress: not longer than the timeout", got)
	}
	turn(1)
	if got := read(); got != "abandoned" {
		t.Errorf("a second later = %s, want abandoned", got)
	}
	if s.call("GET", r.Action.URL, ""); read() != "abandoned" {
		t.Errorf("after a GET of the link = %s, want abandoned: a program may have sent it", read())
	}
	s.call("POST", r.Action.URL+"/opened", "") // as the script of the page does
	if got := read(); got != "in_progress" {
		t.Errorf("after the customer came = %s, want in_progress", got)
	}
	turn(86400)
	if got := read(); got != "expired" {
		t.Errorf("after the deadline = %s, want expired", got)
	}
	if status, page, _ := s.call("GET", r.Action.URL, ""); status != http.StatusGone || !bytes.Contains(page, []byte("expired")) {
		t.Errorf("journey page of the expired run = %d %s", status, page)
	}
	for _, bad := range []string{``, `{}`, `{"seconds":-1}`, `{"seconds":"1"}`, `{"seconds":1e300}`} {
		if status, raw, _ := s.call("POST", s.admin+"/clock/advance", bad); status != 400 {
			t.Errorf("advance %q = %d %s, want 400", bad, status, raw)
		}
	}
}

func TestOperatorsSeeHealthAndMetrics(t *testing.T) {
	s := serveHost(t, nil)
	s.run("POST", s.api+records, `{"reference_id":"person-5"}`, "Prefer", "wait=10")
	build := cli.ReadBuild()
	for path, want := range map[string]string{
		"/healthz": fmt.Sprintf(`{"commit":%q,"status":"ok","version":%q}`, build.Commit, build.Version),
		"/readyz":  `{"status":"ready"}`,
	} {
		if status, raw, _ := s.call("GET", s.admin+path, ""); status != 200 || strings.TrimSpace(string(raw)) != want {
			t.Errorf("%s = %d %s, want %s", path, status, raw, want)
		}
	}
	for address, want := range map[string]string{strings.TrimPrefix(s.admin, "http://"): "", "127.0.0.1:1": "no host answers at 127.0.0.1:1"} {
		var out strings.Builder
		err := server.Run(t.Context(), []string{"health"}, env(map[string]string{"VERIFYD_ADMIN_ADDR": address}), &out, io.Discard)
		if errors.Is(err, server.ErrPrinted) != (want == "") || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(out.String(), `"status":"ok"`) != (want == "") {
			t.Errorf("verifyd health of %s = %v, %q, want %q", address, err, &out, want)
		}
	}
	status, raw, _ := s.call("GET", s.admin+"/metrics", "")
	for _, want := range []string{
		fmt.Sprintf(`verifyd_build_info{commit=%q,date=%q,go=%q,version=%q} 1`, build.Commit, build.Date, build.Go, build.Version),
		"verifyd_runs_started_total 1",
		"verifyd_reviews_open 0", "verifyd_reviews_due_soon 0", "verifyd_reviews_overdue 0",
		`verifyd_runs_ended_total{outcome="",status="completed"} 1`,
		`verifyd_provider_call_seconds_count{outcome="passed",provider="sandbox"} 5`,
		`verifyd_http_request_seconds_count{method="POST",route="/v1/workflows/{id}/runs",status="202"} 1`,
	} {
		if status != 200 || !strings.Contains(string(raw), want) {
			t.Errorf("metrics lack %s:\n%s", want, raw)
		}
	}
	if status, _, _ := s.call("POST", s.admin+"/clock/advance", `{"seconds":1}`); status != http.StatusNotFound {
		t.Errorf("a host on the wall clock lets its clock be turned: %d", status)
	}
}

func TestAnEndWithoutItsDataIsLoggedAndCounted(t *testing.T) {
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": bootstrapFile(t, `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows: [{workflow: rated, id: 0191f3c0-0000-7000-8000-000000000001, name: Rated, start: done, nodes: {done: {type: end, data: {level: "${input.level}"}}}}]
`)})
	s.run("POST", s.api+records, `{"reference_id":"person-1","input":{"level":"gold"}}`, "Prefer", "wait=10")
	r, metrics := s.run("POST", s.api+records, `{"reference_id":"person-2"}`, "Prefer", "wait=10"), ""
	for began := time.Now(); !strings.Contains(metrics, "\nverifyd_runs_incomplete_total 1\n"); {
		if time.Since(began) > time.Minute {
			t.Fatalf("after a minute, the metrics count no run: %s", metrics)
		}
		_, raw, _ := s.call("GET", s.admin+"/metrics", "")
		metrics = string(raw)
	}
	log := s.stderr.String()
	if _, line, _ := strings.Cut(log, "run completed without a value of its data"); r.Status != "completed" || !strings.Contains(line, "run="+r.ID) || strings.Count(log, "value of its data") != 1 {
		t.Errorf("the run is %s, the log %s; want it completed, and one line", r.Status, log)
	}
}

func TestAStopLetsRequestsInFlightFinish(t *testing.T) {
	s := serveHost(t, nil)
	answered := make(chan runJSON, 1)
	go func() {
		answered <- s.run("POST", s.api+records, `{"reference_id":"person-6","input":{"sandbox":{"court_records":"slow:300ms"}}}`, "Prefer", "wait=10")
	}()
	time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the request must be under way on the wall clock
	if err := s.end(); err != nil {
		t.Errorf("stop = %v, want none", err)
	}
	if r := <-answered; r.Status != "completed" {
		t.Errorf("the request in flight = %+v, want completed", r)
	}
}
