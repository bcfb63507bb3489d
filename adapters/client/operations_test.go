// A test that the client has a method for each operation of the API.

package client_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
)

// operations returns the method and path of each operation of the OpenAPI document, by operationId.
func operations(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
		}
	}
	must(t, yaml.Unmarshal(httpapi.OpenAPI(), &document))
	all, parameter := map[string]*regexp.Regexp{}, regexp.MustCompile(`\\{\w+\\}`)
	for path, methods := range document.Paths {
		for method, operation := range methods {
			pattern := parameter.ReplaceAllString(regexp.QuoteMeta(strings.ToUpper(method)+" "+path), "[^/]+")
			all[operation.OperationID] = regexp.MustCompile("^" + pattern + "$")
		}
	}
	return all
}

// network answers every request with an error and remembers the last one.
type network struct{ last *http.Request }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.last = r
	if r.Body != nil {
		_, err := io.Copy(io.Discard, r.Body)
		return responds(http.StatusTeapot, ""), err
	}
	return responds(http.StatusTeapot, ""), nil
}

func TestEachOperationHasAMethodAndNoOther(t *testing.T) {
	n := &network{}
	c, err := client.New(client.Options{BaseURL: "http://api.example/base/", ClientID: "acme", APIKey: apiKey, HTTP: &http.Client{Transport: n}})
	must(t, err)
	ctx := t.Context()
	const run, workflow = verification.RunID("run/1"), verification.WorkflowID("workflow 1")
	second := func(_ any, err error) error { return err }
	calls := map[string]func() error{
		"ListWorkflows":   func() error { return second(c.ListWorkflows(ctx, 2, 1)) },
		"ReadWorkflow":    func() error { return second(c.ReadWorkflow(ctx, workflow)) },
		"SetWebhook":      func() error { return second(c.SetWebhook(ctx, workflow, "https://app.example")) },
		"StartRun":        func() error { return second(c.StartRun(ctx, workflow, client.StartRequest{})) },
		"ListRuns":        func() error { return second(c.ListRuns(ctx, client.RunQuery{ReferenceID: "a&b", Limit: 1})) },
		"ReadRun":         func() error { return second(c.ReadRun(ctx, run)) },
		"PrintReport":     func() error { return second(c.PrintReport(ctx, run)) },
		"SignReport":      func() error { return second(c.SignReport(ctx, run)) },
		"CancelRun":       func() error { return second(c.CancelRun(ctx, run)) },
		"RedactRun":       func() error { return second(c.RedactRun(ctx, run)) },
		"DeliverSignal":   func() error { return second(c.DeliverSignal(ctx, run, client.Signal{Name: "a/b"})) },
		"ReadStep":        func() error { return second(c.ReadStep(ctx, run, "hi")) },
		"UploadDocument":  func() error { return second(c.UploadDocument(ctx, run, "bill", nil)) },
		"ReadDocument":    func() error { return second(c.ReadDocument(ctx, run, "document/1")) },
		"ReceiveCallback": func() error { return second(c.ReceiveCallback(ctx, "token", nil, nil)) },
		"Welcome":         func() error { return second(c.Welcome(ctx)) },
		"ReadOpenAPI":     func() error { return second(c.ReadOpenAPI(ctx)) },
		"ReadReportKeys":  func() error { return second(c.ReadReportKeys(ctx)) },
	}
	more := map[string]func() error{ // of an operation that has a method
		"PrintFile":   func() error { return second(c.PrintFile(ctx, run, true)) },
		"SignFile":    func() error { return second(c.SignFile(ctx, run, false)) },
		"Workflows":   func() error { return firstError(c.Workflows(ctx)) },
		"Runs":        func() error { return firstError(c.Runs(ctx, client.RunQuery{})) },
		"PollRun":     func() error { _, _, err := c.PollRun(ctx, run, "tag"); return err },
		"WaitForRun":  func() error { return second(c.WaitForRun(ctx, run, client.Ended)) },
		"ReadReport":  func() error { return second(c.ReadReport(ctx, run)) },
		"GiveVerdict": func() error { return second(c.GiveVerdict(ctx, run, client.Verdict{})) },
		"AskAgain":    func() error { return second(c.AskAgain(ctx, run, client.AskAgain{})) },
	}
	documented := operations(t)
	check := func(method string, call func() error) string {
		t.Helper()
		e, ok := errors.AsType[*client.Error](call())
		if !ok {
			t.Errorf("%s returns no *Error", method)
			return ""
		}
		path, found := strings.CutPrefix(n.last.URL.EscapedPath(), "/base")
		if pattern := documented[e.Operation]; !found || pattern == nil || !pattern.MatchString(n.last.Method+" "+path) {
			t.Errorf("%s requests %s %s, which is not %q", method, n.last.Method, n.last.URL.EscapedPath(), e.Operation)
		}
		return e.Operation
	}
	called := map[string]bool{}
	for method, call := range calls {
		operation := check(method, call)
		if !strings.EqualFold(operation, method) {
			t.Errorf("%s calls the operation %q", method, operation)
		}
		called[operation] = true
	}
	for method, call := range more {
		check(method, call)
	}
	for operation := range documented {
		if !called[operation] {
			t.Errorf("the operation %s has no method", operation)
		}
	}
	if len(documented) < 14 {
		t.Errorf("%d operations are documented: are they found?", len(documented))
	}
	methods := slices.Concat(slices.Collect(maps.Keys(calls)), slices.Collect(maps.Keys(more)))
	for m := range reflect.TypeFor[*client.Client]().Methods() {
		if !slices.Contains(methods, m.Name) {
			t.Errorf("the method %s has no operation in this test", m.Name)
		}
	}
}

func firstError[T any](all func(func(T, error) bool)) (first error) {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return context.Canceled
}
