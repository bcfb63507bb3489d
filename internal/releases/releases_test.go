package main

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTheTreeLivesBesideEachRelease compares this tree with the record of each release. A record is removed when no host of that release
// may run beside this tree any more.
func TestTheTreeLivesBesideEachRelease(t *testing.T) {
	tree := os.DirFS("../..")
	is, err := describe(tree)
	if err != nil {
		t.Fatal(err)
	}
	drafts, released, err := versions(tree)
	if err != nil || len(drafts)+len(released) == 0 {
		t.Fatalf("docs/changelog.md names no release: %v", err)
	}
	for _, release := range drafts {
		was, err := recorded("testdata", release)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(was, is) {
			for _, file := range slices.Sorted(maps.Keys(is)) {
				if was[file] != is[file] {
					t.Errorf("testdata/%s/%s is not what this tree has: run make record RELEASE=%s", release, file, release)
				}
			}
		}
	}
	for _, release := range released {
		was, err := recorded("testdata", release)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems(t, tree, was, is) {
			t.Errorf("beside %s: %s", release, problem)
		}
	}
}

// changelog is a tree with another changelog.
type changelog struct {
	fs.FS
	text string
}

// Open implements fs.FS.
func (c changelog) Open(name string) (fs.File, error) {
	if name == "docs/changelog.md" {
		return fstest.MapFS{name: {Data: []byte(c.text)}}.Open(name)
	}
	return c.FS.Open(name)
}

func TestOnlyAReleaseToComeIsRecorded(t *testing.T) {
	tree, folder := changelog{os.DirFS("../.."), "# Changelog\n\n## Unreleased: 0.2.0\n\nMore.\n\n## 0.1.0, 2026-12-01\n"}, t.TempDir()
	for release, want := range map[string]string{
		"":      `must have the heading "## Unreleased: "`,
		"0.3.0": `must have the heading "## Unreleased: 0.3.0"`,
		"0.1.0": "says that it is released",
	} {
		if err := record(tree, folder, release); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the record of %q gives %v, want %q", release, err, want)
		}
	}
	if found, err := recorded(folder, "0.1.0"); err == nil || !strings.Contains(err.Error(), "make record RELEASE=0.1.0") {
		t.Errorf("a release without a record has %d files, %v", len(found), err)
	}
	for range 2 { // a draft is recorded anew
		if err := record(tree, folder, "0.2.0"); err != nil {
			t.Fatal(err)
		}
	}
	is, err := describe(tree)
	if err != nil {
		t.Fatal(err)
	}
	if was, err := recorded(folder, "0.2.0"); err != nil || len(was) != len(described)+1 || !maps.Equal(was, is) {
		t.Errorf("the record has %d files, %v, and differs from the tree: %t", len(was), err, !maps.Equal(was, is))
	}
	if found, err := compare(map[string]string{"events.md": "x"}, is); err != nil || !slices.Equal(found, []string{"events.md: is gone"}) {
		t.Errorf("a record with a file that the tree lacks gives %q, %v", found, err)
	}
}

func problems(t *testing.T, tree fs.FS, was, is map[string]string) []string {
	t.Helper()
	found, err := compare(was, is)
	if err != nil {
		t.Fatal(err)
	}
	migrated, err := newMigrations(tree, was)
	if err != nil {
		t.Fatal(err)
	}
	return append(found, migrated...)
}

// TestEachWayToBreakARelease changes this tree, which is the release, in one way, and wants to read about nothing else.
func TestEachWayToBreakARelease(t *testing.T) {
	tree := os.DirFS("../..")
	was, err := describe(tree)
	if err != nil {
		t.Fatal(err)
	}
	const (
		schema, events, records, metrics, api = "schema.txt", "events.txt", "records.txt", "metrics.txt", "openapi.yaml"
		migration                             = migrations + "/00002_more.sql"
	)
	next, err := fs.ReadFile(tree, "hosts/internal/soak/testdata/next/migration.sql")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, before, after string // before is empty to add to the end
		want                []string
	}{
		// The schema.
		"a column is removed":      {schema, "column tenants.zone text NO \n", "", []string{"column tenants.zone is gone"}},
		"a column changes":         {schema, "column tenants.zone text NO \n", "column tenants.zone text YES \n", []string{`column tenants.zone was "text NO " and is "text YES "`}},
		"a column must be filled":  {schema, "", "column tenants.more text NO \n", []string{"column tenants.more is not filled"}},
		"a column is computed":     {schema, "", "column tenants.more uuid NO gen_random_uuid()\n", []string{"column tenants.more has a default that is computed"}},
		"a column may be null":     {schema, "", "column tenants.more text YES \n", nil},
		"a column has a default":   {schema, "", "column tenants.more boolean NO false\n", nil},
		"a table is new":           {schema, "", "column more.id uuid NO \nindex more CREATE UNIQUE INDEX more_pkey ON verifyd.more USING btree (id)\n", nil},
		"an index is new":          {schema, "", "index runs CREATE INDEX more ON verifyd.runs USING btree (id)\n", nil},
		"a unique index is new":    {schema, "", "index runs CREATE UNIQUE INDEX more ON verifyd.runs USING btree (id)\n", []string{"index runs CREATE UNIQUE INDEX more"}},
		"a constraint is new":      {schema, "", "constraint runs CHECK ((wait > 0))\n", []string{"constraint runs CHECK ((wait > 0)) binds the writes"}},
		"a policy is new":          {schema, "", "policy runs more (wait > 0)\n", []string{"policy runs more (wait > 0) binds the writes"}},
		"a trigger is new":         {schema, "", "trigger CREATE TRIGGER more AFTER INSERT ON verifyd.runs FOR EACH ROW\n", []string{"trigger CREATE TRIGGER more"}},
		"an index is removed":      {schema, "index runs CREATE INDEX runs_by_status ON", "index runs CREATE INDEX runs_of_status ON", []string{"runs_by_status ON"}},
		"a function changes":       {schema, "FROM added GROUP BY", "FROM added  GROUP BY", []string{"function count_runs"}},
		"row security is given up": {schema, "security runs true true", "security runs true false", []string{"security runs true true is gone", "security runs true false binds"}},

		// Migrations.
		"a migration is edited": {sums, "migrations/00001_runs.sql ", "migrations/00001_runs.sql 0", []string{"00001_runs.sql was "}},
		"a migration adds": {migration, "", `-- More; and more.
-- +goose Up
ALTER TABLE verifyd.runs ADD COLUMN more text; -- drops; nothing
CREATE TABLE verifyd.more (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), semi text DEFAULT ';');
-- +goose StatementBegin
CREATE FUNCTION verifyd.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE verifyd.more SET id = id; END $$;
-- +goose StatementEnd
COMMENT ON TABLE verifyd.more IS 'DROP TABLE';
-- +goose Down
DROP TABLE verifyd.more;
`, nil},
		"the migration of the tests of upgrades": {migration, "", string(next), nil},
		"a migration drops":                      {migration, "", "-- +goose Up\nDROP INDEX verifyd.runs_by_status;\n", []string{"00002_more.sql: only what adds to the schema may run beside a release before: DROP INDEX"}},
		"a migration changes rows":               {migration, "", "-- +goose Up\nUPDATE verifyd.runs SET wait = 1;\n", []string{"UPDATE verifyd.runs"}},
		"a migration changes types":              {migration, "", "-- +goose Up\nALTER TABLE verifyd.runs ALTER COLUMN wait TYPE bigint;\n", []string{"ALTER COLUMN wait"}},

		// Events and records.
		"an event is removed":          {events, "event cancelled\n", "", []string{"event cancelled is gone"}},
		"a field is removed":           {events, "event started.zone string\n", "", []string{"event started.zone is gone"}},
		"a field changes its type":     {events, "event started.version int\n", "event started.version string\n", []string{`event started.version was "int" and is "string"`}},
		"a nested field is removed":    {events, "event result_recorded.screening.list string\n", "", []string{"event result_recorded.screening.list is gone"}},
		"a kind of records is removed": {records, "record 3 = claim\n", "", []string{"record 3 is gone"}},
		"a kind of records is renamed": {records, "record 3 = claim\n", "record 3 = claims\n", nil},
		"a field of a record changes":  {records, "record 2.seq int\n", "record 2.seq string\n", []string{`record 2.seq was "int" and is "string"`}},
		"a field of a row is removed":  {records, "row tenants.Tenant.Zone string\n", "", []string{"row tenants.Tenant.Zone is gone"}},
		"the version of records rises": {records, "version of records: 2\n", "version of records: 3\n", []string{`version of was "records: 2" and is "records: 3"`}},
		"an event is new":              {events, "", "event more\nevent more.node string\n", []string{"event more is new and not behind the gate"}},
		"an event is new above":        {events, "", "event more since 2\nevent more.node string\n", nil},
		"a field is new":               {events, "", "event started.more string\n", []string{"event started.more is new and not behind the gate"}},
		"a field is new above":         {events, "", "event started.more string since 2\n", nil},
		"a record is new":              {records, "", "record 99 = more\nrecord 99.run string\n", []string{"record 99 is new and not behind the gate"}},
		"a record is new above":        {records, "", "record 99 = more since 2\nrecord 99.run string\n", nil},
		"a field of a record is new":   {records, "", "record 2.summary.More string\n", []string{"record 2.summary.More is new and not behind the gate"}},
		"a field of a row is new":      {records, "", "row tenants.Tenant.More string\n", []string{"row tenants.Tenant.More is new and not behind the gate"}},
		"a kind gets a later level":    {records, "record 3 = claim\n", "record 3 = claim since 2\n", []string{`record 3 was "" and is "since 2"`}},
		"the level rises":              {events, "level of the store since 1\n", "level of the store since 2\n", nil},
		"the level falls":              {events, "level of the store since 1\n", "level of the store since 0\n", []string{"the level of the store has fallen"}},
		"a recorded store is removed":  {sums, "internal/memory/journal/testdata/v2/end", "internal/memory/journal/testdata/v3/end", []string{"testdata/v2/end is gone"}},
		"a recorded history changes":   {sums, "histories/broken.jsonl ", "histories/broken.jsonl 0", []string{"histories/broken.jsonl was"}},

		// Metrics.
		"a metric is removed":       {metrics, "verifyd_runs_started_total counter\n", "", []string{"verifyd_runs_started_total is gone"}},
		"a metric changes its type": {metrics, "verifyd_runs_started_total counter\n", "verifyd_runs_started_total gauge\n", []string{"was a counter and is a gauge"}},
		"a label is removed":        {metrics, "verifyd_store_tenant_bytes gauge tenant\n", "verifyd_store_tenant_bytes gauge\n", []string{"has no label tenant any more"}},
		"a label loses a value":     {metrics, "deferred|delivered|", "delivered|", []string{`verifyd_notices_total has no outcome="deferred" any more`}},
		"a label is new":            {metrics, "verifyd_runs_started_total counter\n", "verifyd_runs_started_total counter workflow\n", nil},
		"a metric is new":           {metrics, "", "verifyd_more_total counter\n", nil},

		// The API.
		"a route is removed":               {api, "  /v1/runs/{id}/cancel:\n", "  /v1/runs/{id}/stop:\n", []string{"POST /v1/runs/{id}/cancel: "}},
		"a response field is removed":      {api, "        decision: {$ref: \"#/components/schemas/Decision\"}\n", "", []string{"POST /v1/runs/{id}/redact: removed the required property `decision`"}},
		"an optional response field too":   {api, "        redacted_at: &redacted\n", "        at: &redacted\n", []string{"GET /v1/runs: removed the optional property"}},
		"a response field changes":         {api, "        reference_id: {type: string}\n", "        reference_id: {type: integer}\n", []string{"the `reference_id` response's property `type` changed from `string` to `integer`"}},
		"a request needs a field":          {api, "required: [reference_id]", "required: [reference_id, redirect_uri]", []string{"POST /v1/workflows/{id}/runs: the request property `redirect_uri` became required"}},
		"a request field is removed":       {api, "        redirect_uri:\n", "        redirect:\n", []string{"POST /v1/workflows/{id}/runs: removed the request property `redirect_uri`"}},
		"a notice changes":                 {api, "  runEnded:\n", "  runOver:\n", []string{"webhook `runEnded` removed"}},
		"a field of a notice is removed":   {api, "        customer_text:\n          type: string\n          minLength: 1\n", "        customer_words:\n          type: string\n          minLength: 1\n", []string{"POST webhook:runEnded: removed the optional property `data/customer_text`"}},
		"a notice always has a new field":  {api, "      required: [type, timestamp, data]\n      properties:\n", "      required: [type, timestamp, data, more]\n      properties:\n        more: {type: string}\n", nil},
		"a response header is removed":     {api, "            Preference-Applied: {$ref: \"#/components/headers/PreferenceApplied\"}\n", "", []string{"Preference-Applied"}},
		"a response field is new":          {api, "        decision: {$ref: \"#/components/schemas/Decision\"}\n", "        decision: {$ref: \"#/components/schemas/Decision\"}\n        more: {type: string}\n", nil},
		"a setting is removed":             {"settings.schema.json", `"addr": {`, `"address": {`, []string{"/settings.schema.json: removed the request property `addr`"}},
		"a setting changes its type":       {"settings.schema.json", "\"calls\": {\n", "\"calls\": {\"minimum\": 9,\n", []string{"/settings.schema.json: "}},
		"a setting is new":                 {"settings.schema.json", `"addr": {`, `"more": {"type": "string"}, "addr": {`, nil},
		"a type of nodes is removed":       {"workflow.schema.json", `"branch", "review", "end"]`, `"branch", "end"]`, []string{"/workflow.schema.json: removed the enum value `review`"}},
		"a field of a file becomes longer": {"workflow.schema.json", `"maxLength": 200`, `"maxLength": 300`, nil},
		"a field of a file is shorter":     {"workflow.schema.json", `"maxLength": 200`, `"maxLength": 100`, []string{"/workflow.schema.json: "}},
		"a shared part is narrower":        {"workflow.schema.json", `"enum": ["end", "start"]`, `"enum": ["end"]`, []string{"/workflow.schema.json: ", "/bootstrap.schema.json: "}},
	} {
		t.Run(name, func(t *testing.T) {
			is := maps.Clone(was)
			files := fstest.MapFS{}
			switch {
			case tt.file == migration:
				files[migration] = &fstest.MapFile{Data: []byte(tt.after)}
			case tt.before == "":
				is[tt.file] += tt.after
			default:
				if is[tt.file] = strings.Replace(was[tt.file], tt.before, tt.after, 1); is[tt.file] == was[tt.file] {
					t.Fatalf("%s does not have %q", tt.file, tt.before)
				}
			}
			found := problems(t, files, was, is)
			if lines := strings.HasSuffix(tt.file, ".txt"); len(tt.want) == 0 && len(found) > 0 || lines && len(found) != len(tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(found, func(problem string) bool { return strings.Contains(problem, want) }) {
					t.Errorf("found %q, want %q", found, want)
				}
			}
		})
	}
}
