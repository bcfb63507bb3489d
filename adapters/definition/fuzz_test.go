package definition_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/verification"
)

func FuzzReadWorkflow(f *testing.F) {
	for _, file := range examples(f) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, strings.HasSuffix(file, ".json"))
	}
	f.Add([]byte("a: &a [*a]\n? [b]\n: {<<: *a}\n"), false)
	f.Add([]byte(`{"nodes": {"a": {"with": {"\ud800": 1e999}}, "a": null}}`), true)
	f.Fuzz(func(t *testing.T, raw []byte, asJSON bool) {
		file := "w.yaml"
		if asJSON {
			file = "w.json"
		}
		d, err := definition.ReadWorkflow(file, raw)
		checkFaults(t, err)
		if err != nil {
			return
		}
		again, err := definition.ReadWorkflow(file, raw)
		if diff := cmp.Diff(d.Definition, again.Definition); diff != "" || err != nil {
			t.Errorf("a second reading differs: %v\n%s", err, diff)
		}
		// What a definition means is judged without a panic, and its faults
		// have places.
		version := verification.Version{Definition: d.Definition}
		if _, err := verification.Compile("", version, lenient{}, nil); err != nil {
			checkFaults(t, d.Explain(err))
		}
	})
}

func FuzzReadBootstrap(f *testing.F) {
	f.Add([]byte(bootstrapFile))
	f.Add([]byte(strings.Replace(bootstrapFile, "at least 20 characters", "at-least-20-characters", 1)))
	f.Add([]byte(`{"tenants": [{"id": "x", "accounts": [{}], "workflows": [{}, "", null]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := definition.ReadBootstrap("b.yaml", raw, testdata, func(string) string {
			return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		})
		checkFaults(t, err)
	})
}

// checkFaults holds what is true of any error: it is ours, it has a line a
// fault, and all of its places are in the file.
func checkFaults(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var faults *definition.Diagnostics
	if !errors.As(err, &faults) || !errors.Is(err, verification.ErrInvalid) || len(faults.List) == 0 {
		t.Fatalf("%T %v is not *Diagnostics", err, err)
	}
	lines := strings.Count(err.Error(), "\n") + 1
	if wanted := len(faults.List) + min(faults.More, 1); lines != wanted {
		t.Errorf("%d faults on %d lines:\n%v", wanted, lines, err)
	}
	for _, fault := range faults.List {
		if fault.File == "" || fault.Message == "" || fault.Line < 0 || fault.Column < 0 {
			t.Errorf("a fault without a place: %+v", fault)
		}
	}
}
