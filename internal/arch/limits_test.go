// The numbers of docs/limits.md, beside the constants of the code.

package arch_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// limitSources returns the constants with the numbers of each row of docs/limits.md, in their order, as
// folder.name. "setting name" is the default of a setting of verifyd, and a number stands for
// itself.
func limitSources() map[string][]string {
	return map[string][]string{
		"verdicts":                              {"verification/rules.maxVerdicts"},
		"proposed verdicts that were sent back": {"verification/rules.maxReturned", "verification/rules.maxReturned / 2"},
		"decisions on hits":                     {"verification/rules.maxHitDecisions", "verification/rules.maxHitDecisions / 2"},
		"notes":                                 {"verification/rules.maxRunNotes", "verification/rules.maxRunNotes / 2"},
		"corrections":                           {"verification/rules.maxCorrections", "verification/rules.maxCorrections / 2"},
		"a correction of a value":               {"verification/rules.MaxCorrection"},
		"a note to a customer who is asked again": {"verification/workflow.MaxNoteToCustomer"},
		"assignments":             {"verification/rules.maxAssignments", "verification/rules.maxAssignments / 2"},
		"escalations":             {"verification/rules.maxEscalations", "verification/rules.maxEscalations / 2"},
		"openings of the journey": {"verification/rules.maxOpenings", "verification/rules.maxAllOpenings"},
		"changes of a pending handle during one wait":     {"verification/rules.maxHandles"},
		"events of a run that goes on to another step":    {"verification/rules.maxHistory"},
		"data of a run that goes on to another step":      {"verification/rules.maxHistoryBytes"},
		"body of a request to the API":                    {"adapters/httpapi.maxBody", "verification.MaxDepth"},
		"`reference_id`":                                  {"verification/rules.maxReferenceID"},
		"notes of a verdict, a note or a decision":        {"verification/rules.MaxNotes"},
		"`Idempotency-Key`":                               {"adapters/httpapi.maxKey", "verification/store.IdempotencyKeyTTL"},
		"requests of one account or reviewer":             {"setting rate-limit"},
		"memory of all runs of a host without a database": {"setting store-memory"},
		"an uploaded file":                                {"verification.MaxDocumentBytes"},
		"files that one step takes":                       {"verification/rules.MaxUploads"},
		"documents of one tenant":                         {},
		"the audit trail of one tenant":                   {},
		"recorded callbacks of one dispatch":              {"verification/rules.maxCallbacks"},
		"memory of large runs that are busy on a host":    {"verification/engine.maxLanes", "verification/engine.tenantLanes"},
		"webhook of a workflow":                           {"1"},
		"a workflow file or bootstrap file":               {"internal/definitions.maxBytes", "internal/definitions.maxLevel"},
		"workflows in one bootstrap file":                 {"internal/definitions.maxWorkflows"},
		"texts that YAML aliases of one file stand for":   {"internal/definitions.maxAliasedBytes", "internal/definitions.maxAliased"},
		"a workflow as JSON":                              {"verification/workflow.MaxDefinitionBytes"},
		"versions of a workflow":                          {"verification/workflow.MaxVersions"},
		"workflows of a tenant":                           {"verification/workflow.MaxWorkflows"},
		"accounts of a tenant":                            {"verification.MaxAccounts"},
		"nodes of a workflow":                             {"verification/workflow.MaxNodes", "verification/workflow.maxExpressions"},
		"fields of a form":                                {"verification/workflow.maxFields", "verification/workflow.maxOptions", "verification/workflow.maxLists", "verification/workflow.maxLists"},
		"members of a group of checks":                    {"verification/workflow.MaxMembers"},
		"elements of a step with `for_each`":              {"verification/workflow.MaxElements", "verification/workflow.MaxElementChecks"},
		"search words of an element with a name":          {"verification/facts.maxElementWords", "verification/facts.maxSearchWords"},
		"rows of a group of fields":                       {"verification/workflow.MaxRows"},
		"rounds of a step":                                {"verification/workflow.DefaultRounds", "verification/workflow.maxRounds"},
		"runs of one person that are looked at for an [earlier rejection](offline-checks.md#earlier-runs)": {
			"verification/engine.maxEarlierFound", "verification/engine.maxEarlierRead", "verification/engine.maxEarlierWords",
		},
		"languages of one text":                                       {"verification/workflow.maxLanguages"},
		"problems that are listed of one file":                        {"internal/definitions.maxListedDiagnostics"},
		"entries from which on a list that lost more than half waits": {"internal/watchlist.minGuarded"},
		"saved views of a person in the console":                      {"adapters/console/internal/queue.maxViews"},
		"teams":                                                       {"hosts/verifyd/server.maxTeams"},
	}
}

func TestNumbersOfTheLimitsAreInTheCode(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources := limitSources()
	constants := map[string]map[string]string{} // of a folder
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "thing" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		want, ok := sources[cells[0]]
		if delete(sources, cells[0]); !ok {
			t.Errorf("docs/limits.md has the row %q, which this test does not know", cells[0])
			continue
		}
		var values []string
		for _, source := range want {
			if name, ok := strings.CutPrefix(source, "setting "); ok {
				values = append(values, defaultOf(t, name))
				continue
			}
			folder, expr, ok := strings.Cut(source, ".")
			if !ok {
				values = append(values, source)
				continue
			}
			if constants[folder] == nil {
				constants[folder] = constantsOf(t, folder)
			}
			values = append(values, valueOf(t, constants[folder], expr))
		}
		if got := numbersOf(t, cells[1]); !slices.Equal(got, values) {
			t.Errorf("docs/limits.md says of %s %q: %v; the code says %v (%v)", cells[0], cells[1], got, values, want)
		}
	}
	for _, thing := range slices.Sorted(maps.Keys(sources)) {
		t.Errorf("docs/limits.md has no row for %s", thing)
	}
}

// numbersOf returns the numbers in a cell, in bytes or nanoseconds if they have a unit. "none"
// and "half" are numbers too; "one each second" is not.
func numbersOf(t *testing.T, cell string) (numbers []string) {
	t.Helper()
	units := map[string]int{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "hours": 3600e9}
	cell = regexp.MustCompile(`\]\(\S+\)`).ReplaceAllString(cell, "]")
	for _, m := range regexp.MustCompile(`\b(none|half)\b|(\d[\d,]*\d|\d)(?: (KiB|MiB|hours))?`).FindAllStringSubmatch(cell, -1) {
		switch m[1] {
		case "none":
			numbers = append(numbers, "0")
		case "half":
			numbers = append(numbers, "0.5")
		default:
			n, err := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, strconv.Itoa(n*units[m[3]]))
		}
	}
	return numbers
}

// defaultOf returns the default of a setting of verifyd.
func defaultOf(t *testing.T, setting string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "hosts/verifyd/server/settings.go"))
	if err != nil {
		t.Fatal(err)
	}
	field := strings.ReplaceAll(setting, "-", "")
	m := regexp.MustCompile(`(?mi)^\t` + field + `\s.*default:"([^"]*)"`).FindSubmatch(raw)
	if m == nil {
		t.Fatalf("no default of --%s", setting)
	}
	return string(m[1])
}

// constantsOf returns the expressions of the constants of a folder.
func constantsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, s := range g.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for i, value := range v.Values {
							all[v.Names[i].Name] = string(raw[value.Pos()-file.FileStart : value.End()-file.FileStart])
						}
					}
				}
			}
		}
	}
	return all
}

// valueOf returns the value of an expression of constants.
func valueOf(t *testing.T, constants map[string]string, expr string) string {
	t.Helper()
	e, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatal(err)
	}
	v, err := evaluate(constants, e)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return v.ExactString()
}

func evaluate(constants map[string]string, e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.Ident:
		named, err := parser.ParseExpr(constants[e.Name])
		if err != nil {
			return nil, fmt.Errorf("there is no constant %s", e.Name)
		}
		return evaluate(constants, named)
	case *ast.SelectorExpr:
		if e.Sel.Name == "Hour" {
			return constant.MakeInt64(3600e9), nil
		}
	case *ast.BinaryExpr:
		x, err := evaluate(constants, e.X)
		if err != nil {
			return nil, err
		}
		y, err := evaluate(constants, e.Y)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case token.SHL:
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n)), nil
		case token.QUO:
			return constant.BinaryOp(x, token.QUO_ASSIGN, y), nil // of integers
		default:
			return constant.BinaryOp(x, e.Op, y), nil
		}
	}
	return nil, fmt.Errorf("unknown expression %T", e)
}
