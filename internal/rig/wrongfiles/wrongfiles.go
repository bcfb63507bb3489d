// Package wrongfiles has bootstrap files that are refused, one for each thing that can be refused, and reads what
// a file can change, so that tests can compare it before and after.
package wrongfiles

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// File is a bootstrap file that is refused.
type File struct {
	Name string
	Text string
	Want string // in the error
	// Stored reports whether the file is refused for what is stored, or only by hosts with a store.
	Stored bool
}

const bank verification.TenantID = "0191f3c0-0000-7000-8000-00000000000b"

// Base is the file that was applied before.
const Base = `
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    retention: {keep_days: 7}
    accounts:
      - {client_id: bank, api_key: a-key-for-local-use-only}
      - {client_id: reader, api_key: another-key-for-local-use, surfaces: [runs]}
    workflows:
      - {workflow: simple, name: Simple, start: pan, nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}}
`

// Good is a file that would change everything that a file can change.
const Good = `
providers:
  bureau:
    type: rest
    base_url: http://127.0.0.1:9091
    with: {type: object, required: [answer], properties: {answer: {type: string}}}
    request: {method: GET, path: "/${with.answer}"}
    response: {passed: response.body.result == 'VALID', failed: response.body.result == 'INVALID', data: {score: {value: response.body.score, type: number}}}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bench
    time_zone: Asia/Kolkata
    colour: "#102030"
    links: {privacy: "https://bank.example/privacy", phone: "+91 22 98765432"}
    redirect_allowlist: ["https://bank.example/done"]
    webhook_secret: whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt
    previous_webhook_secret: whsec_dHdvLXR3by10d28tdHdvLXR3by10d28t
    retention: {keep_days: 7, redact_after_days: 9}
    accounts:
      - {client_id: bank, api_key: one-key-for-local-use-only}
      - {client_id: fresh, api_key: fresh-key-for-local-use-only, surfaces: [runs, signals]}
    workflows:
      - {workflow: simple, name: Simpler, start: pan, nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}}
      - workflow: last
        name: Last
        retention: {redact_after_days: 30}
        lifecycle_webhook_url: https://bank.example/hooks
        start: form
        nodes:
          form: {type: customer_input, label: Form, fields: {number: {type: text, label: Number, required: true}}, next: pan}
          pan: {type: check, provider: offline.pan, with: {number: "${steps.form.data.number}"}, next: end}
          end: {type: end}
  - id: 0191f3c0-0000-7000-8000-00000000000c
    name: Fresh
    accounts:
      - {client_id: clerk, api_key: clerk-key-for-local-use-only}
`

// Fill saves what is not of a file: a tenant with an account and one with as many as it may have, a workflow with the webhook of a
// client, and one with as many versions as it may have.
func Fill(ctx context.Context, s store.Store) error {
	const theirs, full verification.TenantID = "0191f3c0-0000-7000-8000-00000000000e", "0191f3c0-0000-7000-8000-00000000000f"
	set := store.Setup{
		Tenants:  []verification.Tenant{{ID: theirs, Name: "Theirs"}, {ID: full, Name: "Full"}},
		Accounts: []verification.Account{{ClientID: "theirs", Tenant: theirs}},
	}
	for n := range 1000 {
		set.Accounts = append(set.Accounts, verification.Account{ClientID: fmt.Sprintf("full-%d", n), Tenant: full})
	}
	for _, w := range []workflow.Workflow{{Slug: "hooked", LifecycleWebhookURL: "https://client.example"}, {Slug: "versions", Versions: workflow.MaxVersions}} {
		w.ID, w.Name, w.Revision = workflow.DeriveWorkflowID(bank, w.Slug), w.Slug, 1
		set.Workflows = append(set.Workflows, store.WorkflowChange{Tenant: bank, Workflow: w})
	}
	return s.SaveSetup(ctx, set)
}

// All returns the files. Each is Good except for one text.
func All() []File {
	const (
		simple = "      - {workflow: simple,"
		end    = "          end: {type: end}\n"
		clerk  = "{client_id: clerk, api_key: clerk-key-for-local-use-only}"
		check  = "provider: offline.pan, with: {number: \"${steps.form.data.number}\"}"
	)
	another := func(slug, more string) string {
		return end + "      - {workflow: " + slug + ", name: Another, " + more + "start: a, nodes: {a: {type: end}}}\n"
	}
	stored := func(f File) File {
		f.Stored = true
		return f
	}
	return []File{
		wrong("no YAML", "name: Fresh", "name: [Fresh", "yaml"),
		wrong("a key twice", "name: Fresh", "name: Fresh\n    name: Flesh", "name"),
		wrong("no tenants", "tenants:", "tenant:", "tenants"),
		wrong("an unknown field", "name: Fresh", "name: Fresh\n    colours: red", "colours"),
		wrong("a value of another type", "name: Fresh", "name: {de: Frisch}", "must be a string"),
		wrong("a tenant without a UUID", "00000000000c", "c", "id"),
		wrong("two tenants with one id", "00000000000c", "00000000000b", "another tenant has the same id"),
		wrong("a tenant without a name", "name: Fresh", `name: ""`, "must be 1 to 200 characters"),
		wrong("a time zone", "Asia/Kolkata", "Asia/Kalkutta", "must be a time zone"),
		wrong("a colour", "#102030", "#1020", "six hexadecimal digits"),
		wrong("a logo that is not there", "name: Fresh", "name: Fresh\n    logo: none.png", "none.png"),
		wrong("a link", "https://bank.example/privacy", "bank.example/privacy", "privacy"),
		wrong("a phone number", "+91 22 98765432", "call us", "phone"),
		wrong("a redirect with a query", "https://bank.example/done", "https://bank.example/done?a=b", "redirect_allowlist"),
		wrong("a webhook secret", "whsec_b25l", "b25l", "webhook_secret"),
		wrong("a previous secret alone", "    webhook_secret: whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt\n", "", "must come with a webhook_secret"),
		wrong("a retention that keeps longer than it removes", "redact_after_days: 9}", "redact_after_days: 3}", "redact_after_days"),
		wrong("a negative retention", "keep_days: 7, redact", "keep_days: -7, redact", "keep_days"),
		wrong("a client id with a space", "client_id: clerk", "client_id: a clerk", "client_id"),
		wrong("a client id twice", "client_id: clerk", "client_id: fresh", "another account has the same client_id"),
		wrong("an account without a key", clerk, "{client_id: clerk}", "api_key"),
		wrong("a short key", "clerk-key-for-local-use-only", "clerk-key", "api_key"),
		wrong("a variable that is not set", "clerk-key-for-local-use-only", `"${env:NOT_SET}"`, "the environment variable NOT_SET is not set"),
		wrong("a variable inside a text", "clerk-key-for-local-use-only", `"${env:NOT_SET}-and-more"`, "must be ${env:NAME} alone"),
		wrong("a key in a file that is not there", "clerk-key-for-local-use-only", `"${file:none.key}"`, "none.key"),
		wrong("a file inside a text", "clerk-key-for-local-use-only", `"${file:none.key}-and-more"`, "must be ${file:PATH} alone"),
		wrong("two keys that are one", clerk, "{client_id: clerk, api_key: clerk-key-for-local-use-only, previous_api_key: clerk-key-for-local-use-only}", "must be another key than api_key"),
		wrong("an unknown surface", "[runs, signals]", "[runs, signal]", "surfaces"),
		wrong("no surface", "[runs, signals]", "[]", "must name a surface"),
		wrong("a surface twice", "[runs, signals]", "[runs, runs]", "the surface is given twice"),
		wrong("a workflow file that is not there", end, end+"      - none.yaml\n", "none.yaml"),
		wrong("a workflow that is a number", end, end+"      - 7\n", "workflows[2]"),
		wrong("two workflows of one name", end, another("simple", ""), "another workflow of the same name"),
		wrong("two workflows of one id", "workflow: last", "workflow: last\n        id: "+string(workflow.DeriveWorkflowID(bank, "simple")), "another workflow of the same id"),
		wrong("a workflow id without a UUID", "workflow: last", "workflow: last\n        id: last", "id"),
		wrong("too many workflows", simple, many()+simple, "at most 1000 workflows"),
		wrong("a list without a path", "tenants:", "lists: {sanctions: {path: \"\"}}\ntenants:", "must not be empty"),
		wrong("columns of a list that has its own", "tenants:", "lists: {sanctions: {path: a.csv, format: un, columns: {name: n}}}\ntenants:", "columns"),
		wrong("a provider of another type", "type: rest", "type: soap", "providers.bureau"),
		wrong("an expression of a provider", "response.body.result == 'VALID'", "response.body.result = 'VALID'", "providers.bureau"),
		wrong("a provider with the name of a check", "  bureau:", "  offline.pan:", "name"),
		wrong("a provider with the name of a sandbox", "  bureau:", "  sandbox:", "a built-in provider has this name"),
		wrong("an unknown provider", "provider: offline.pan", "provider: offline.pam", `there is no provider "offline.pam"`),
		wrong("an unknown field of with", "{number: \"$", "{numbers: 1, number: \"$", "numbers"),
		wrong("a re-screening without every", check, check+", rescreen: {list: sanctions}", "rescreen"),
		wrong("an unknown next step", "next: end}", "next: ende}", "ende"),
		wrong("a start that is no step", "start: form", "start: forms", "forms"),
		wrong("a step that nothing leads to", end, end+"          alone: {type: end}\n", "alone"),
		wrong("an expression of a workflow", end, "          end: {type: end, data: {a: \"${steps.pan.}\"}}\n", "data"),
		wrong("a condition that reads too early", "form: {type", "form: {when: steps.pan.passed, type", "pan"),
		wrong("a webhook that is no URL", "https://bank.example/hooks", "ftp://bank.example/hooks", "lifecycle_webhook_url"),
		wrong("a workflow that removes what the tenant keeps", "{redact_after_days: 30}", "{redact_after_days: 3}", "of the tenant and the workflow together"),
		stored(wrong("the webhook of a client", end, another("hooked", "lifecycle_webhook_url: \"https://new.example\", "), "webhook clear hooked")),
		stored(wrong("more versions than a workflow takes", end, another("versions", ""), "takes no more")),
		stored(wrong("the client of another tenant", "client_id: clerk", "client_id: theirs", "another tenant has that client id")),
		stored(wrong("more accounts than a tenant takes", "00000000000c\n    name: Fresh", "00000000000f\n    name: Full", "takes 1000")),
	}
}

// many returns a thousand workflows.
func many() string {
	var b strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&b, "      - {workflow: w%d, name: W, start: a, nodes: {a: {type: end}}}\n", n)
	}
	return b.String()
}

func wrong(name, from, to, want string) File {
	if !strings.Contains(Good, from) {
		panic("wrongfiles: the good file lacks " + from)
	}
	return File{Name: name, Text: strings.Replace(Good, from, to, 1), Want: want}
}

// Tables returns the rows of the tables that a bootstrap file can change, with the transaction that wrote each.
func Tables(t testing.TB, url string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "SELECT set_config('verifyd.tenant', 'all', false)"); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, table := range []string{
		"tenants", "accounts", "workflows", "workflow_versions", "audit_entries", "applied_files", "shared_values", "rescreen_passes", "retention_marks", "deliveries",
	} {
		rows, err := conn.Query(t.Context(), "SELECT xmin::text || ' ' || r::text FROM verifyd."+table+" r")
		var all []string
		if err == nil {
			all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		fmt.Fprintf(&b, "%s\n%s\n", table, strings.Join(all, "\n"))
	}
	return b.String()
}

// Records returns the records of a store that a bootstrap file can change.
func Records(t testing.TB, s store.CopyStore) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range []store.RecordKind{
		store.RecordTenant, store.RecordAccount, store.RecordWorkflow, store.RecordAudit, store.RecordPass, store.RecordRetentionMark, store.RecordDelivery,
	} {
		for r, err := range s.Records(t.Context(), kind) {
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", kind, raw)
		}
	}
	return b.String()
}
