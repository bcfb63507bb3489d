// Conversations with the API on memory.

package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestARunFromStartToReport(t *testing.T) {
	s := newSite(t)
	w, c, ctx := s.Apply(reviewed()), s.client(t), t.Context()
	workflows, err := c.ListWorkflows(ctx, 0, 0)
	if err != nil || workflows.Total != 1 || workflows.Data[0].ID != w.ID || workflows.Limit != 50 {
		t.Fatalf("ListWorkflows = %v, %v; want %s", workflows, err, w.ID)
	}
	hooked, err := c.SetWebhook(ctx, w.ID, "https://app.example/hooks")
	if err != nil || hooked.LifecycleWebhookURL != "https://app.example/hooks" {
		t.Errorf("SetWebhook = %v, %v", hooked, err)
	}
	wait := 1500 * time.Millisecond
	run, err := c.StartRun(ctx, w.ID, client.StartRequest{
		ReferenceID: "person & 1", Input: map[string]any{"name": "Asha Rao"}, IdempotencyKey: "key", Wait: &wait,
	})
	must(t, err)
	if got := s.sent[len(s.sent)-1].Header; got.Get("Prefer") != "wait=2" || got.Get("Idempotency-Key") != "key" {
		t.Errorf("headers of the start = %v, want the key, and a wait of 2 s", got)
	}
	document, err := c.UploadDocument(ctx, run.ID, "bill", []byte("%PDF-1.4\n1 0 obj\n%%EOF\n"))
	must(t, err)
	asked, err := c.WaitForRun(ctx, run.ID, client.Resting)
	if err != nil || asked.ActionRequired == nil || asked.ActionRequired.Type != rules.ActionCustomerInput {
		t.Fatalf("WaitForRun = %v, %v; want it to wait for the customer", asked, err)
	}
	signal := client.Signal{
		Name:    asked.ActionRequired.SignalName,
		Payload: map[string]any{"bill": map[string]any{"document_id": document.DocumentID}},
	}
	if got, err := c.DeliverSignal(ctx, run.ID, signal); err != nil || got.Result != "signal_delivered" {
		t.Fatalf("DeliverSignal = %v, %v", got, err)
	}
	file, err := c.ReadDocument(ctx, run.ID, document.DocumentID)
	if err != nil || file.MediaType != "application/pdf" || int64(len(file.Content)) != document.Size {
		t.Errorf("ReadDocument = %s of %d bytes, %v; want a PDF of %d", file.MediaType, len(file.Content), err, document.Size)
	}
	queue, err := c.ListRuns(ctx, client.RunQuery{
		WorkflowID: w.ID, Status: rules.StatusInProgress, Decision: rules.DecisionReview, ReferenceID: "person & 1",
		StartedAfter: run.StartedAt.Add(-time.Microsecond), StartedBefore: run.StartedAt.Add(time.Second), Limit: 1,
	})
	if err != nil || queue.Total != 1 || queue.Data[0].ID != run.ID {
		t.Errorf("ListRuns of the queue = %v, %v; want %s", queue, err, run.ID)
	}
	if _, err := c.PrintReport(ctx, run.ID); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("PrintReport of a live run = %v, want a conflict", err)
	}
	verdict, err := c.GiveVerdict(ctx, run.ID, client.Verdict{Decision: rules.DecisionApprove, Notes: "Seen."})
	if err != nil || verdict != (apitypes.SignalResult{OK: true, Result: "signal_delivered", Decision: rules.DecisionApprove}) {
		t.Errorf("GiveVerdict = %v, %v", verdict, err)
	}
	ended, err := c.WaitForRun(ctx, run.ID, client.Ended)
	if err != nil || ended.Status != rules.StatusCompleted || *ended.Decision != rules.DecisionApprove || ended.Notes != "Seen." {
		t.Errorf("WaitForRun = %v, %v; want it completed and approved", ended, err)
	}
	read, err := c.ReadRun(ctx, run.ID)
	if diff := cmp.Diff(ended, read); err != nil || diff != "" {
		t.Errorf("ReadRun: %v, %s", err, diff)
	}
	report, err := c.ReadReport(ctx, run.ID)
	if err != nil || report.Run.ID != run.ID || len(report.Cards) != 2 || report.Decision == nil {
		t.Errorf("ReadReport = %v, %v", report, err)
	}
	if pdf, err := c.PrintReport(ctx, run.ID); err != nil || string(pdf) != "%PDF of "+string(run.ID) {
		t.Errorf("PrintReport = %s, %v", pdf, err)
	}
	if signature, err := c.SignReport(ctx, run.ID); err != nil || !strings.Contains(string(signature), "..") {
		t.Errorf("SignReport = %s, %v", signature, err)
	}
	if detail, err := c.ReadWorkflow(ctx, w.ID); err != nil || detail.Steps == nil || detail.LifecycleWebhookURL == "" {
		t.Errorf("ReadWorkflow = %v, %v", detail, err)
	}
	s.Settle()
	s.Notices.FailWith(errors.New("away")) // the notice of the run that is cancelled next
	other := s.Start(w.ID, engine.StartRequest{ReferenceID: "person-2"})
	if _, err := c.RedactRun(ctx, other.ID); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("RedactRun of a live run = %v, want a conflict", err)
	}
	for range 2 {
		if got, err := c.CancelRun(ctx, other.ID); err != nil || got != (apitypes.Cancelled{ID: other.ID, Status: rules.StatusCancelled}) {
			t.Errorf("CancelRun = %v, %v", got, err)
		}
	}
	silent := s.Start(s.Apply(simple()).ID, engine.StartRequest{ReferenceID: "person-3"})
	if got, err := c.RedactRun(ctx, silent.ID); err != nil || got.ReferenceID != rules.RedactedReference || got.RedactedAt.IsZero() {
		t.Errorf("RedactRun = %v, %v", got, err)
	}
}

func TestTheServiceNeedsNoCredentials(t *testing.T) {
	s := newSite(t)
	c := s.client(t)
	welcome, err := c.Welcome(t.Context())
	if err != nil || welcome.OpenAPI != "/openapi.yaml" {
		t.Errorf("Welcome = %v, %v", welcome, err)
	}
	if document, err := c.ReadOpenAPI(t.Context()); err != nil || !strings.HasPrefix(string(document), "openapi: 3") {
		t.Errorf("ReadOpenAPI = %.20q, %v", document, err)
	}
	if keys, err := c.ReadReportKeys(t.Context()); err != nil || !strings.Contains(string(keys), "Ed25519") {
		t.Errorf("ReadReportKeys = %s, %v", keys, err)
	}
	header := http.Header{"X-Signature": {"s"}}
	if _, err := c.ReceiveCallback(t.Context(), "no token", header, nil); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("ReceiveCallback = %v, want that it is not found", err)
	}
	for _, r := range s.sent {
		if r.Header.Get("x-api-key") != "" || r.Header.Get("client-id") != "" {
			t.Errorf("%s has credentials", r.URL)
		}
	}
}

func TestAReviewerDecidesWithATokenAlone(t *testing.T) {
	s := newSite(t)
	run := s.Start(s.Apply(review()).ID, engine.StartRequest{ReferenceID: "person-1"})
	c := s.client(t, func(o *client.Options) { o.AccessToken = "token" })
	if _, err := c.GiveVerdict(t.Context(), run.ID, client.Verdict{Decision: rules.DecisionReject}); err != nil {
		t.Fatal(err)
	}
	if h := s.sent[0].Header; h.Get("Authorization") != "Bearer token" || h.Get("x-api-key") != "" {
		t.Errorf("headers = %v, want the token alone", h)
	}
	if got, err := c.ReadRun(t.Context(), run.ID); err != nil || *got.Decision != rules.DecisionReject {
		t.Errorf("ReadRun = %v, %v; want it rejected", got, err)
	}
}

func TestErrorsAreValues(t *testing.T) {
	s := newSite(t)
	w, c, ctx := s.Apply(reviewed()), s.client(t), t.Context()
	run := s.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
	other := s.client(t, func(o *client.Options) { o.APIKey = "another key of at least twenty characters" })
	start := func(input any, key string) error {
		_, err := c.StartRun(ctx, w.ID, client.StartRequest{ReferenceID: "person-1", Input: input, IdempotencyKey: key})
		return err
	}
	signal := func(id verification.RunID, name string, payload any) error {
		_, err := c.DeliverSignal(ctx, id, client.Signal{Name: name, Payload: payload})
		return err
	}
	must(t, start(map[string]any(nil), "key"))
	second := func(_ any, err error) error { return err }
	const nowhere = "00000000-0000-7000-8000-00000000dead"
	kinds := []error{
		verification.ErrInvalid, verification.ErrUnauthenticated, verification.ErrForbidden, verification.ErrNotFound, verification.ErrNotOpen,
		verification.ErrConflict, verification.ErrKeyReused, verification.ErrInFlight, verification.ErrUnavailable,
	}
	for name, test := range map[string]struct {
		err  error
		kind error
		want client.Error
	}{
		"a field": {start(map[string]any{"name": 1}, ""), verification.ErrInvalid, client.Error{
			Operation: "startRun", Status: 400, Text: "The request is not valid.",
			Fields: []apitypes.FieldError{{Field: "input.name", Message: "must be a string"}},
		}},
		"a body": {signal(run.ID, "details_submitted", nil), verification.ErrInvalid, client.Error{
			Operation: "deliverSignal", Status: 400, Text: "The request is not valid.",
			Fields: []apitypes.FieldError{{Field: "payload", Message: "must be an object"}},
		}},
		"credentials": {second(other.ReadRun(ctx, run.ID)), verification.ErrUnauthenticated, client.Error{
			Operation: "readRun", Status: 401, Text: "invalid service credentials",
		}},
		"no run": {second(c.ReadRun(ctx, nowhere)), verification.ErrNotFound, client.Error{
			Operation: "readRun", Status: 404, Text: "There is no such run.",
		}},
		"no run for a signal": {signal(nowhere, "x", map[string]any{}), verification.ErrNotFound, client.Error{
			Operation: "deliverSignal", Status: 404, Text: "There is no such run.",
		}},
		"a signal that is not open": {signal(run.ID, "x", map[string]any{}), verification.ErrNotOpen, client.Error{
			Operation: "deliverSignal", Status: 404, Text: "no open signal x for this run",
		}},
		"a filter": {second(c.ListRuns(ctx, client.RunQuery{Limit: 201})), verification.ErrInvalid, client.Error{
			Operation: "listRuns", Status: 400, Text: "invalid limit",
		}},
		"a live report": {second(c.PrintReport(ctx, run.ID)), verification.ErrConflict, client.Error{
			Operation: "printReport", Status: 409, Code: "run_not_over", Text: "The run is in_progress; its report is printed once it is over.",
		}},
		"a key of another request": {start(map[string]any{"name": "B"}, "key"), verification.ErrKeyReused, client.Error{
			Operation: "startRun", Status: 422, Code: "idempotency_key_reused", Text: "the idempotency key was used with another request",
		}},
		"a file": {second(c.UploadDocument(ctx, run.ID, "bill", nil)), verification.ErrInvalid, client.Error{
			Operation: "uploadDocument", Status: 422, Code: "file_not_accepted", Text: "The file is not accepted.",
			Fields: []apitypes.FieldError{{Field: "payload.bill", Message: "the file is empty"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := errors.AsType[*client.Error](test.err)
			if !ok {
				t.Fatalf("the error is %v", test.err)
			}
			for _, kind := range kinds {
				if is := errors.Is(got, kind); is != errors.Is(kind, test.kind) {
					t.Errorf("errors.Is(err, %v) = %t", kind, is)
				}
			}
			if got.RequestID == "" || !strings.Contains(got.Error(), got.RequestID) || !strings.Contains(got.Error(), got.Text) {
				t.Errorf("Error = %q without text or request %q", got.Error(), got.RequestID)
			}
			plain := *got
			plain.RequestID = ""
			unexported := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".short" }, cmp.Ignore())
			if diff := cmp.Diff(test.want, plain, unexported); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnErrorShowsNothingOfTheRequest(t *testing.T) {
	s := &site{fault: func(int, func() *http.Response) (*http.Response, error) { return nil, errNetwork }}
	c := s.client(t, func(o *client.Options) { o.Attempts = 1 })
	_, list := c.ListRuns(t.Context(), client.RunQuery{ReferenceID: "person-1"})
	_, callback := c.ReceiveCallback(t.Context(), "secret", nil, nil)
	for _, err := range []error{list, callback} {
		if !errors.Is(err, errNetwork) || strings.Contains(err.Error(), "person-1") || strings.Contains(err.Error(), "secret") {
			t.Errorf("error = %q", err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []client.Options{
		{},
		{BaseURL: "verify.example"},
		{BaseURL: "ftp://verify.example"},
		{BaseURL: "https://"},
		{BaseURL: "https://a:b@verify.example"},
		{BaseURL: "https://verify.example?a=b"},
		{BaseURL: "https://verify.example#a"},
		{BaseURL: "https://verify.example", Timeout: -1},
		{BaseURL: "https://verify.example", Attempts: -1},
		{BaseURL: "https://verify.example", MaxWait: -1},
		{BaseURL: "https://verify.example", PollInterval: -1},
	} {
		if _, err := client.New(o); err == nil || !strings.HasPrefix(err.Error(), "client: the option ") {
			t.Errorf("New(%v) = %v, want an error that names the option", o, err)
		}
	}
}

func TestWaitingPollsByEntityTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		run := s.Start(s.Apply(review()).ID, engine.StartRequest{ReferenceID: "person-1"})
		c := s.client(t)
		var statuses []int
		s.fault = func(n int, handle func() *http.Response) (*http.Response, error) {
			if n == 8 {
				s.GiveVerdict(run.ID, rules.DecisionApprove)
			}
			response := handle()
			statuses = append(statuses, response.StatusCode)
			return response, nil
		}
		ended, err := c.WaitForRun(t.Context(), run.ID, client.Ended)
		if err != nil || ended.Status != rules.StatusCompleted {
			t.Errorf("WaitForRun = %v, %v; want it completed", ended, err)
		}
		if want := []int{200, 304, 304, 304, 304, 304, 304, 200}; !slices.Equal(statuses, want) {
			t.Errorf("statuses = %v, want %v", statuses, want)
		}
		for i, ms := range []int{100, 200, 400, 800, 1600, 2000, 2000} {
			want := time.Duration(ms) * time.Millisecond
			if wait := s.when[i+1].Sub(s.when[i]); wait != want {
				t.Errorf("wait %d = %s, want %s", i+1, wait, want)
			}
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		run := s.Start(s.Apply(review()).ID, engine.StartRequest{ReferenceID: "person-1"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := s.client(t).WaitForRun(ctx, run.ID, client.Ended)
		if err == nil || ctx.Err() == nil || got.ID != run.ID {
			t.Errorf("WaitForRun = %v, %v; want the run as it was read, and an error", got, err)
		}
	})
}
