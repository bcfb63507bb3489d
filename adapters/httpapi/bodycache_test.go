// The cache of encoded runs is bounded and never stale.

package httpapi_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestTheCacheIsBoundedInBytes(t *testing.T) {
	ref := func(i int) verification.RunRef {
		return verification.RunRef{Tenant: "t", Run: verification.RunID(rune('a' + i))}
	}
	cached := func(b httpapi.BodyCache) (n int) {
		for i := range 101 {
			if _, ok := b.Get(ref(i), rules.RunDetail{}); ok {
				n++
			}
		}
		return n
	}
	const maxBytes = 10000
	b := httpapi.NewBodyCache(maxBytes)
	for i := range 100 {
		b.Put(ref(i), rules.RunDetail{}, make([]byte, 500))
		if want := min(i+1, 4); cached(b) != want {
			t.Fatalf("%d bodies are cached after %d runs, want the %d that fit", cached(b), i+1, want)
		}
	}
	b.Put(ref(100), rules.RunDetail{}, make([]byte, maxBytes))
	if n := cached(b); n != 4 {
		t.Errorf("%d bodies are cached after one that is too large, want 4", n)
	}
	none := httpapi.NewBodyCache(-1)
	none.Put(ref(0), rules.RunDetail{}, []byte("x"))
	if n := cached(none); n != 0 {
		t.Errorf("%d bodies are cached, want none", n)
	}
}

func TestTheBodyReadLastIsEvictedLast(t *testing.T) {
	b := httpapi.NewBodyCache(3 * 1100)
	ref := func(run verification.RunID) verification.RunRef { return verification.RunRef{Run: run} }
	for _, run := range []verification.RunID{"a", "b", "c"} {
		b.Put(ref(run), rules.RunDetail{}, []byte(run))
	}
	b.Get(ref("a"), rules.RunDetail{})
	b.Put(ref("d"), rules.RunDetail{}, []byte("d"))
	for run, kept := range map[verification.RunID]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := b.Get(ref(run), rules.RunDetail{}); ok != kept {
			t.Errorf("kept %s = %t, want %t", run, ok, kept)
		}
	}
	b.Put(ref("a"), rules.RunDetail{Seq: 2}, []byte("new"))
	if _, ok := b.Get(ref("c"), rules.RunDetail{}); !ok {
		t.Error("a new body of a run evicted another run")
	}
}

// TestABodyIsServedOnlyForAnEqualDetail changes every field of a detail, so
// that a field added later is not forgotten.
func TestABodyIsServedOnlyForAnEqualDetail(t *testing.T) {
	at := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	full := func() rules.RunDetail {
		return rules.RunDetail{
			RunView: rules.RunView{
				ID: "id", WorkflowID: "w", ReferenceID: "r", Status: rules.StatusFailed, StartedAt: at, CompletedAt: at,
				Action: &rules.Action{Type: rules.ActionReview, SignalName: "s", URL: "u"},
				Error:  &rules.RunError{Code: rules.CodeCheckFailed, Check: "c", Message: "m"},
			},
			Checks:   []rules.Check{{Key: "k", Label: "l", Status: rules.StepPassed, Data: verification.Data(`{"a":1}`)}},
			Decision: rules.DecisionReview, Notes: "n", ResolvedAt: at,
			Flags: []rules.Flag{{NodeID: "n", Label: "l", Reason: "r", Sentences: []rules.Sentence{{Key: "k", Text: "t"}}}}, Seq: 7,
		}
	}
	b := httpapi.NewBodyCache(1 << 20)
	b.Put(verification.RunRef{Run: "id"}, full(), []byte("body"))
	if _, ok := b.Get(verification.RunRef{Run: "id"}, full()); !ok {
		t.Fatal("the body of an equal detail is not served")
	}
	changed := 0
	var walk func(path string, v reflect.Value)
	check := func(path string, d rules.RunDetail) {
		changed++
		if _, ok := b.Get(verification.RunRef{Run: "id"}, d); ok {
			t.Errorf("the body is served although %s differs", path)
		}
	}
	d := full()
	walk = func(path string, v reflect.Value) {
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(at.Add(time.Second)))
			check(path, d)
		case v.Kind() == reflect.String:
			v.SetString("other")
			check(path, d)
		case v.Kind() == reflect.Int:
			v.SetInt(99)
			check(path, d)
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.Zero(v.Type()))
			check(path, d)
			v.Set(before)
			walk(path, v.Elem())
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
			v.SetBytes([]byte("{}"))
			check(path, d)
		case v.Kind() == reflect.Slice:
			v.Set(reflect.Zero(v.Type()))
			check(path, d)
			v.Set(before)
			walk(path+"[0]", v.Index(0))
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		default:
			t.Errorf("%s is of a kind that this test does not know: %s", path, v.Kind())
		}
		v.Set(before)
	}
	walk("RunDetail", reflect.ValueOf(&d).Elem())
	if changed < 25 {
		t.Errorf("%d fields were changed, want them all", changed)
	}
}

func TestTheAnswersAreTheSameWithoutACache(t *testing.T) {
	a := newAPI(t, setup{})
	id := string(a.parked())
	bare := httpapi.New(a.Engine, httpapi.Options{CacheBytes: -1})
	kept := a.handler
	for range 3 {
		a.handler = kept
		want := a.do(http.MethodGet, "/v1/runs/"+id, "")
		a.handler = bare
		a.do(http.MethodGet, "/v1/runs/"+id, "").is(want.Status, string(want.Body)).header("ETag", want.Header.Get("ETag"))
	}
}
