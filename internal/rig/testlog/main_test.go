// Tests that every failure is printed whole, and every package when it ends.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPackageIsPrintedWhenItEnds(t *testing.T) {
	var got bytes.Buffer
	failed, err := report(strings.NewReader(`{"Action":"start","Package":"slow"}
{"Action":"start","Package":"fast"}
{"Action":"run","Package":"slow","Test":"TestA"}
{"Action":"output","Package":"slow","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"slow","Test":"TestA","Output":"    a_test.go:7: why\n"}
{"Action":"output","Package":"fast","Test":"TestB","Output":"    b_test.go:7: a log\n"}
{"Action":"pass","Package":"fast","Test":"TestB"}
{"Action":"output","Package":"fast","Output":"PASS\n"}
{"Action":"output","Package":"fast","Output":"ok  \tfast\t0.1s\n"}
{"Action":"pass","Package":"fast"}
not an event
{"Action":"fail","Package":"slow","Test":"TestA"}
{"Action":"output","Package":"slow","Test":"TestRuns","Output":"panic: test timed out\n"}
{"Action":"output","Package":"slow","Output":"FAIL\tslow\t9.1s\n"}
{"Action":"fail","Package":"slow"}
{"Action":"build-output","ImportPath":"broken","Output":"broken.go:1: syntax error"}`), &got, false)
	const want = "ok  \tfast\t0.1s\nnot an event\n    a_test.go:7: why\npanic: test timed out\nFAIL\tslow\t9.1s\nbroken.go:1: syntax error"
	if diff := cmp.Diff(want, got.String()); diff != "" || err != nil || !cmp.Equal(failed, []string{"slow"}) {
		t.Errorf("failed = %v, %v; printed (-want +got):\n%s", failed, err, diff)
	}
}

// TestFailuresOfGoTestAreComplete runs the real go test on packages that fail in every way.
func TestFailuresOfGoTestAreComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":           "module example\n",
		"pass/a_test.go":   "package a\nimport \"testing\"\nfunc TestPass(t *testing.T) { t.Log(\"unwanted\") }\n",
		"fail/a_test.go":   "package a\nimport \"testing\"\nfunc TestFail(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"wanted-sub\") }) }\n",
		"panic/a_test.go":  "package a\nimport \"testing\"\nfunc TestPanic(t *testing.T) { panic(\"wanted-panic\") }\n",
		"exit/a_test.go":   "package a\nimport (\"os\"; \"testing\")\nfunc TestMain(m *testing.M) { println(\"wanted-exit\"); os.Exit(3) }\n",
		"build/a_test.go":  "package a\nfunc f() { wantedBuild() }\n",
		"syntax/a_test.go": "package syntax {\n",
		"none/a.go":        "package none\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got bytes.Buffer
	err := run(t.Context(), []string{"./..."}, &got)
	for _, want := range []string{
		"ok  \texample/pass", "wanted-sub", "--- FAIL: TestFail/sub", "FAIL\texample/fail", "panic: wanted-panic", "a_test.go:3", "FAIL\texample/panic",
		"wanted-exit", "FAIL\texample/exit", "wantedBuild", "FAIL\texample/build [build failed]", "syntax/a_test.go:1:16", "FAIL\texample/syntax [setup failed]", "example/none\t[no test files]",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if err == nil || strings.Contains(got.String(), "unwanted") {
		t.Errorf("err = %v", err)
	}
	for _, failed := range []string{"fail", "panic", "exit", "build", "syntax"} {
		if err != nil && !strings.Contains(err.Error(), "example/"+failed) {
			t.Errorf("the last line %q does not name example/%s", err, failed)
		}
	}
	if t.Failed() {
		t.Log(got.String())
	}
}

func TestTwoRunsInOneCheckoutHaveTheirOwnBinaries(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tests")
	run := func() (string, func()) {
		args := []string{"-v", "-o", folder + "/", "./..."}
		unlock, err := ownFolder(args)
		if err != nil {
			t.Fatal(err)
		}
		return args[2], unlock
	}
	first, endFirst := run()
	second, endSecond := run()
	if first != folder+"/" || second != folder+"-2/" {
		t.Errorf("the runs use %s and %s, want %s/ and %[3]s-2/", first, second, folder)
	}
	endFirst()
	endSecond()
	if again, end := run(); again != first {
		t.Errorf("a later run uses %s, want %s", again, first)
	} else {
		end()
	}
}
