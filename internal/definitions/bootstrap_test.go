package definitions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

const bootstrapFile = `tenants:
  - id: 0191F3C0-0000-7000-8000-00000000000A
    name: Acme
    redirect_allowlist: ["https://app.acme.example/verify", "http://localhost:3000"]
    webhook_secret: ${env:ACME_WEBHOOK}
    accounts:
      - {client_id: acme, api_key: "at least 20 characters" }
      - {client_id: acme-2, api_key: "${env:ACME_KEY}", disabled: true, surfaces: [signals, runs]}
    workflows:
      - workflows/smallest.yaml
      - workflow: inline
        id: 0191f3c0-0000-7000-8000-000000000002
        name: Inline
        start: done
        nodes: {done: {type: end}}
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Beta
    webhook_secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    workflows: [workflows/smallest.yaml, /elsewhere/smallest.json]
`

func TestABootstrapReads(t *testing.T) {
	const secret, key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "0123456789-0123456789"
	env := map[string]string{"ACME_WEBHOOK": secret + "\n", "ACME_KEY": key + "\r\n"} // as mounted secrets may be
	raw := strings.Replace(bootstrapFile, "at least 20 characters", "at-least-20-characters", 1)
	b, err := definitions.ReadBootstrap("etc/bootstrap.yaml", []byte(raw), testdata, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	const acme, beta verification.TenantID = "0191f3c0-0000-7000-8000-00000000000a", "0191f3c0-0000-7000-8000-00000000000b"
	type found struct {
		Tenant    verification.Tenant
		Accounts  []verification.Account
		Workflows []string
	}
	want := []found{
		{
			Tenant: verification.Tenant{
				ID: acme, Name: "Acme", WebhookSecret: secret,
				RedirectAllowlist: []string{"https://app.acme.example/verify", "http://localhost:3000"},
			},
			Accounts: []verification.Account{
				{ClientID: "acme", Tenant: acme, KeyHash: verification.HashAPIKey("at-least-20-characters"), Surfaces: verification.Surfaces()},
				{
					ClientID: "acme-2", Tenant: acme, KeyHash: verification.HashAPIKey(key), Disabled: true,
					Surfaces: []verification.Surface{verification.SurfaceSignals, verification.SurfaceRuns},
				},
			},
			Workflows: []string{
				"etc/workflows/smallest.yaml nothing " + string(workflow.DeriveWorkflowID(acme, "nothing")),
				"etc/bootstrap.yaml inline 0191f3c0-0000-7000-8000-000000000002",
			},
		},
		{
			Tenant: verification.Tenant{ID: beta, Name: "Beta", WebhookSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
			Workflows: []string{
				"etc/workflows/smallest.yaml nothing " + string(workflow.DeriveWorkflowID(beta, "nothing")),
				"/elsewhere/smallest.json nothing-in-json " + string(workflow.DeriveWorkflowID(beta, "nothing-in-json")),
			},
		},
	}
	var got []found
	for _, tenant := range b.Tenants {
		one := found{Tenant: tenant.Tenant, Accounts: tenant.Accounts}
		for _, w := range tenant.Workflows {
			one.Workflows = append(one.Workflows, fmt.Sprint(w.File, " ", w.Definition.Workflow, " ", w.Definition.ID))
		}
		got = append(got, one)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bootstrap (-want +got):\n%s", diff)
	}
}

func TestProblemsOfAnInlineWorkflowNameItsFile(t *testing.T) {
	b, err := definitions.ReadBootstrap("b.yaml", []byte(`tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    workflows:
      - workflow: inline
        start: a
        nodes:
          a: {type: end}
`), testdata, noVariables)
	if err != nil {
		t.Fatal(err)
	}
	d := b.Tenants[0].Workflows[0]
	_, cause := workflow.Compile(t.Context(), "", workflow.Version{Definition: d.Definition}, lenient{}, nil, nil)
	const want = "b.yaml:5:9: tenants[0].workflows[0].name: is required"
	if got := fmt.Sprint(d.Explain(cause)); got != want {
		t.Errorf("explained %q, want %q", got, want)
	}
}

func TestTheNumberOfWorkflowsOfABootstrapIsBounded(t *testing.T) {
	raw := "tenants:\n- id: 0191f3c0-0000-7000-8000-00000000000a\n  name: Acme\n  workflows:\n" + strings.Repeat("  - w.yaml\n", 3000)
	opened := 0
	_, err := definitions.ReadBootstrap("b.yaml", []byte(raw), func(string) ([]byte, error) {
		opened++
		return nil, fs.ErrNotExist
	}, noVariables)
	if opened != 1000 || !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("%d files were opened, want 1000; %v", opened, err)
	}
}

func TestABootstrapNeedsNeitherFilesNorVariables(t *testing.T) {
	raw := `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    webhook_secret: ${env:SECRET}
    workflows: [w.yaml]
`
	_, err := definitions.ReadBootstrap("b.yaml", []byte(raw), nil, nil)
	const want = "b.yaml:4:5: tenants[0].webhook_secret: the environment variable SECRET is not set\n" +
		"b.yaml:5:17: tenants[0].workflows[0]: open w.yaml: file does not exist"
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
}

// testdata opens a file of testdata by its base name.
func testdata(path string) ([]byte, error) {
	for _, folder := range []string{"etc/", "/elsewhere/"} {
		path = strings.TrimPrefix(path, folder)
	}
	return os.ReadFile("testdata/workflows/" + strings.TrimPrefix(path, "workflows/"))
}

func noVariables(string) string { return "" }

func ExampleReadBootstrap() {
	files := fstest.MapFS{
		"bootstrap.yaml": {Data: []byte(`
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000a
    name: Acme
    accounts: [{client_id: acme, api_key: "${env:ACME_API_KEY}"}]
    workflows: [workflows/hello.yaml]
`)},
		"workflows/hello.yaml": {Data: []byte(`
workflow: hello
name: Hello
start: consent
nodes:
  consent: {type: consent, text: May we go on, on_declined: next, next: done}
  done: {type: end}
`)},
	}
	raw, err := files.ReadFile("bootstrap.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := definitions.ReadBootstrap("bootstrap.yaml", raw, files.ReadFile, func(string) string { return "a-key-of-20-characters" })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tenant := range b.Tenants {
		fmt.Println(tenant.Tenant.Name, tenant.Accounts[0].ClientID, tenant.Workflows[0].Definition.ID)
	}
	// Output: Acme acme 20ea5abe-779a-8071-92f1-2a7158c1e060
}

func ExampleReadWorkflow() {
	_, err := definitions.ReadWorkflow("workflows/hello.yaml", []byte(`
workflow: hello
nam: Hello
start: consent
nodes:
  consent: {type: consent, text: May we go on, on_decline: done, next: done}
  done: {type: end, label: 12}
`))
	fmt.Println(err)
	// Output:
	// workflows/hello.yaml:3:1: nam: unknown field; did you mean name?
	// workflows/hello.yaml:6:48: nodes.consent.on_decline: unknown field; did you mean on_declined?
	// workflows/hello.yaml:7:21: nodes.done.label: must be a string or an object, not a number: put it in quotes
}

func TestATenantHasAColourAndASecretThatIsBeingReplaced(t *testing.T) {
	const head = "tenants:\n  - id: 0191f3c0-0000-7000-8000-00000000000a\n    name: Acme\n"
	const old, next = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	b, err := definitions.ReadBootstrap("b.yaml", []byte(head+
		"    time_zone: Asia/Kolkata\n    colour: \"#0b5c4a\"\n    webhook_secret: "+next+"\n    previous_webhook_secret: "+old+"\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := b.Tenants[0].Tenant
	if got.Zone != "Asia/Kolkata" || got.Colour != "#0b5c4a" || got.WebhookSecret != next || got.PreviousWebhookSecret != old {
		t.Errorf("tenant = %+v, want its zone, colour and both secrets", got)
	}
	for text, want := range map[string]string{
		"    time_zone: Asia/Atlantis\n":             `b.yaml:4:5: tenants[0].time_zone: must be a time zone of the IANA database, such as Asia/Kolkata`,
		"    time_zone: Local\n":                     `b.yaml:4:5: tenants[0].time_zone: must be a time zone of the IANA database, such as Asia/Kolkata`,
		"    time_zone: \"\"\n":                      `b.yaml:4:5: tenants[0].time_zone: must be a time zone of the IANA database, such as Asia/Kolkata`,
		"    colour: green\n":                        `b.yaml:4:5: tenants[0].colour: must be six hexadecimal digits after a #, in quotes, such as "#0b5c4a"`,
		"    colour: \"#0b5c\"\n":                    `b.yaml:4:5: tenants[0].colour: must be six hexadecimal digits after a #, in quotes, such as "#0b5c4a"`,
		"    previous_webhook_secret: " + old + "\n": "b.yaml:4:5: tenants[0].previous_webhook_secret: must come with a webhook_secret",
		"    webhook_secret: ${env:NOT_SET}\n    previous_webhook_secret: " + old + "\n": "b.yaml:4:5: tenants[0].webhook_secret: the environment variable NOT_SET is not set",
		"    webhook_secret: " + next + "\n    previous_webhook_secret: whsec_x\n": "b.yaml:5:5: tenants[0].previous_webhook_secret: " +
			"must be whsec_ followed by the base64 of 24 to 64 bytes",
	} {
		if _, err := definitions.ReadBootstrap("b.yaml", []byte(head+text), nil, nil); err == nil || err.Error() != want {
			t.Errorf("%q = %v, want %s", text, err, want)
		}
	}
}
