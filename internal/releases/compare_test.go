// What a release could not live beside, as the tests compare it.

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

// compare returns what the record of a release has and the tree lacks or has otherwise, and what the tree adds without the gate: a
// host or a client of the release could not live beside it. Both have the files of describe.
func compare(was, is map[string]string) (found []string, err error) {
	for _, file := range slices.Sorted(maps.Keys(was)) {
		var problems []string
		switch {
		case is[file] == "":
			problems = []string{"is gone"}
		case strings.HasSuffix(file, ".yaml"):
			problems, err = breaking(was[file], is[file])
		case !strings.HasSuffix(file, ".schema.json"):
			before, after := entries(file, was[file]), entries(file, is[file])
			problems = append(changed(file, before, after), added(file, before, after)...)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, p := range problems {
			found = append(found, file+": "+p)
		}
	}
	before, err := requests(was)
	if err != nil {
		return nil, err
	}
	after, err := requests(is)
	if err != nil {
		return nil, err
	}
	problems, err := breaking(before, after)
	return append(found, problems...), err
}

// schemaEntry begins an entry of schema.txt. The text of a function has more lines.
var schemaEntry = regexp.MustCompile(`(?m)^(column|constraint|function|index|policy|security|trigger) `)

const levels = "level of" // the key of the line with the level of the store

// entries returns what each line of a file says, by what it is about.
func entries(file, text string) map[string]string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if file == "schema.txt" {
		lines = nil
		at := append(schemaEntry.FindAllStringIndex(text, -1), []int{len(text)})
		for i := range at[1:] {
			lines = append(lines, strings.TrimSuffix(text[at[i][0]:at[i+1][0]], "\n"))
		}
	}
	all := map[string]string{}
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		switch {
		case file == sums || file == "metrics.txt":
			all[words[0]] = strings.Join(words[1:], " ")
		case file == "schema.txt" && words[0] != "column":
			all[line] = ""
		case len(words) == 3 && !strings.HasPrefix(words[2], "= "):
			all[words[0]+" "+words[1]] = words[2]
		case len(words) > 1: // the name of a kind of records may change
			_, level, _ := strings.Cut(line, " since ")
			all[words[0]+" "+words[1]] = strings.TrimSuffix("since "+level, "since ")
		}
	}
	return all
}

// changed returns the entries that are gone or say something else.
func changed(file string, was, is map[string]string) (found []string) {
	for _, key := range slices.Sorted(maps.Keys(was)) {
		before := was[key]
		after, ok := is[key]
		switch {
		case !ok:
			found = append(found, key+" is gone")
		case key == levels:
			if levelOf(after) < levelOf(before) {
				found = append(found, "the level of the store has fallen")
			}
		case file == "metrics.txt":
			found = append(found, changedLabels(key, before, after)...)
		case after != before:
			found = append(found, fmt.Sprintf("%s was %q and is %q", key, before, after))
		}
	}
	return found
}

// changedLabels compares "TYPE LABEL LABEL=VALUE|VALUE" of a metric.
func changedLabels(metric, was, is string) (found []string) {
	before, after := strings.Fields(was), strings.Fields(is)
	if before[0] != after[0] {
		found = append(found, fmt.Sprintf("%s was a %s and is a %s", metric, before[0], after[0]))
	}
	labels := map[string][]string{}
	for _, label := range after[1:] {
		name, values, _ := strings.Cut(label, "=")
		labels[name] = strings.Split(values, "|")
	}
	for _, label := range before[1:] {
		name, values, listed := strings.Cut(label, "=")
		if labels[name] == nil {
			found = append(found, metric+" has no label "+name+" any more")
		}
		for value := range strings.SplitSeq(values, "|") {
			if listed && labels[name] != nil && !slices.Contains(labels[name], value) {
				found = append(found, fmt.Sprintf("%s has no %s=%q any more", metric, name, value))
			}
		}
	}
	return found
}

// added returns the new entries that a host of the release cannot live beside.
func added(file string, was, is map[string]string) (found []string) {
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, old := was[key]; old {
			continue
		}
		switch file {
		case "events.txt", "records.txt":
			kind, _, field := strings.Cut(key, ".")
			_, oldKind := was[kind]
			if level := levelOf(is[key]); (!field || oldKind) && level <= levelOf(was[levels]) {
				found = append(found, key+" is new and not behind the gate: say since which level of the store it is written")
			}
		case "schema.txt":
			if problem := forced(key, is[key], was); problem != "" {
				found = append(found, key+" "+problem)
			}
		}
	}
	return found
}

// levelOf returns the level of the store at the end of an entry; 1 if it names none.
func levelOf(entry string) int {
	_, level, _ := strings.Cut(" "+entry, " since ")
	n, err := strconv.Atoi(cmp.Or(level, "1"))
	if err != nil {
		return 0
	}
	return n
}

// forced says why a host of the release cannot write to a table that it knows any more, because of a new entry of the schema.
func forced(key, value string, was map[string]string) string {
	words := strings.Fields(key)
	table, _, column := strings.Cut(words[1], ".")
	if words[0] == "trigger" {
		_, on, _ := strings.Cut(key, " ON verifyd.")
		table, _, _ = strings.Cut(on, " ")
	}
	known := slices.ContainsFunc(slices.Collect(maps.Keys(was)), func(key string) bool { return strings.HasPrefix(key, "column "+table+".") })
	switch {
	case !known, words[0] == "function", words[0] == "index" && !strings.Contains(key, " UNIQUE "):
		return ""
	case !column || words[0] != "column":
		return "binds the writes of that release: do it without, or in a new table"
	case strings.HasSuffix(value, " NO "):
		return "is not filled by that release: let it be null, or give it a default"
	case strings.Contains(value, "("):
		return "has a default that is computed for each row, so that the table is written anew: use a constant"
	}
	return ""
}

var (
	// quoted is what a statement has in quotes or as a comment.
	quoted = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$\$.*?\$\$`)
	// adds is how a statement begins that adds to the schema and changes no rows. What it adds is in schema.txt.
	adds = regexp.MustCompile(`^(COMMENT ON|GRANT|CREATE (TABLE|INDEX|UNIQUE INDEX|FUNCTION|TRIGGER|POLICY)|` +
		`ALTER TABLE \S+ (ADD|ENABLE ROW LEVEL SECURITY|FORCE ROW LEVEL SECURITY)) `)
)

// newMigrations returns what migrations that a release does not have do beside adding to the schema.
func newMigrations(tree fs.FS, was map[string]string) (found []string, err error) {
	names, err := fs.Glob(tree, migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	old := entries(sums, was[sums])
	for _, name := range names {
		if old[name] != "" {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for statement := range strings.SplitSeq(quoted.ReplaceAllString(up, "''"), ";") {
			words := strings.Join(strings.Fields(strings.Trim(statement, "' \n")), " ")
			if words != "" && !adds.MatchString(strings.ToUpper(words)+" ") {
				found = append(found, path.Base(name)+": only what adds to the schema may run beside a release before: "+words)
			}
		}
	}
	return found, nil
}

// reference is a reference of a schema file to a part of itself, to another file, or to a part of another file.
var reference = regexp.MustCompile(`"\$ref": *"([a-z.]*)(?:#/\$defs/(\w+))?"`)

// requests returns the schema files as one OpenAPI document, in which each file is what a request takes.
func requests(files map[string]string) (string, error) {
	paths, schemas := map[string]any{}, map[string]any{}
	for file, text := range files {
		if !strings.HasSuffix(file, ".schema.json") {
			continue
		}
		text = reference.ReplaceAllStringFunc(text, func(ref string) string {
			m := reference.FindStringSubmatch(ref)
			return fmt.Sprintf(`"$ref": "#/components/schemas/%s%s"`, cmp.Or(m[1], file), m[2])
		})
		var schema struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		for name, part := range schema.Defs {
			schemas[file+name] = part
		}
		schemas[file] = json.RawMessage(text)
		content := map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + file}}}
		answers := map[string]any{"204": map[string]any{"description": "It was read."}}
		paths["/"+file] = map[string]any{"put": map[string]any{"requestBody": map[string]any{"content": content}, "responses": answers}}
	}
	raw, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "files", "version": "1"}, "paths": paths, "components": map[string]any{"schemas": schemas},
	})
	return string(raw), err
}

// breaking returns how one OpenAPI document breaks clients of another one.
func breaking(was, is string) (found []string, err error) {
	if was == is {
		return nil, nil
	}
	var specs [2]*load.SpecInfo
	for i, text := range []string{was, is} {
		spec, err := openapi3.NewLoader().LoadFromData([]byte(text))
		if err != nil {
			return nil, err
		}
		for _, webhook := range spec.Webhooks { // it is sent, as a response is
			sent := openapi3.NewResponse().WithContent(webhook.Post.RequestBody.Value.Content)
			webhook.Post.RequestBody = nil
			webhook.Post.Responses.Set("200", &openapi3.ResponseRef{Value: sent.WithDescription("sent")})
		}
		specs[i] = &load.SpecInfo{Spec: spec}
	}
	differences, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), specs[0], specs[1])
	if err != nil {
		return nil, err
	}
	config := checker.NewConfig(checker.GetAllChecks(), checker.WithSeverityLevels(map[string]checker.Level{
		checker.ResponseOptionalPropertyRemovedId: checker.ERR, checker.OptionalResponseHeaderRemovedId: checker.ERR,
	}))
	for _, c := range checker.CheckBackwardCompatibilityUntilLevel(config, differences, sources, checker.WARN) {
		found = append(found, strings.TrimSpace(c.GetOperation()+" "+c.GetPath())+": "+c.GetUncolorizedText(checker.NewDefaultLocalizer()))
	}
	return found, nil
}
