package golden_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/golden"
)

func TestSameBytesPass(t *testing.T) {
	t.Setenv(golden.Env, "")
	golden.Equal(t, "testdata/poem.txt", []byte("Roses are red.\r\nNo line end here"))
}

func TestDifferenceFailsWithADiff(t *testing.T) {
	t.Setenv(golden.Env, "")
	path := file(t, "one\ntwo\nthree\n")
	got := run(t, path, []byte("one\n2\nthree\n"))
	for _, part := range []string{"differs", "two", "2", "-update"} {
		if !strings.Contains(got.failure, part) {
			t.Errorf("failure = %q, want it to contain %q", got.failure, part)
		}
	}
	if text := read(t, path); text != "one\ntwo\nthree\n" {
		t.Errorf("file = %q after a failure, want it unchanged", text)
	}
}

func TestLineEndsAndBinaryBytesCount(t *testing.T) {
	t.Setenv(golden.Env, "")
	if got := run(t, file(t, "one\n"), []byte("one\r\n")); got.failure == "" {
		t.Error("another line end passed, want a failure")
	}
	if got := run(t, file(t, "\xff\x00"), []byte("\xff\x01")); !strings.Contains(got.failure, "differs") {
		t.Errorf("failure = %q for another byte, want a difference", got.failure)
	}
}

func TestFieldsAreThoseOfTheJSON(t *testing.T) {
	type part struct {
		Name string `json:"name,omitempty"`
	}
	type whole struct {
		part // its fields are those of the whole

		At     time.Time        `json:"at"`
		Parts  []part           `json:"parts"`
		ByName map[string]*part `since:"2"`
		Raw    []byte           `json:"raw"`
		Own    json.RawMessage  `json:"own"`
		Hidden int              `json:"-"`
		Inside []*whole         `json:"inside"`
		secret int
	}
	want := []string{
		"x = whole since 2", "x.name string", "x.at time.Time", "x.parts[].name string", "x.ByName{}.name string since 2", "x.raw bytes", "x.own json.RawMessage",
		"x.inside[] as above",
	}
	if got := golden.Fields("x", "whole", 2, reflect.TypeOf(whole{secret: 1})); !slices.Equal(got, want) {
		t.Errorf("the fields are %q, want %q", got, want)
	}
}

// recorder records the failure of a test.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) { r.failure += fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func run(t *testing.T, path string, got []byte) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if failure := recover(); failure != nil {
				r.failure = fmt.Sprint(failure)
			}
		}()
		golden.Equal(r, path, got)
	}()
	return r
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
