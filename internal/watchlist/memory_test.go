// Tests of the memory of lists.

package watchlist_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// countedWithin is the part of the heap by which List.Bytes may be wrong.
const countedWithin = 0.15

func TestAListCountsTheMemoryThatItTakes(t *testing.T) {
	var file bytes.Buffer
	if err := writeReal(&file, realnames.New(realnames.For(t), 1), 100_000, func(uint32, realnames.Name) {}); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"real names": file.String(),
		"long texts": "id,schema,name,aliases,birth_date,countries\n" + strings.Repeat("x,Person,Ivan Testov,"+strings.Repeat("Ivan Fictional Testov;", 20)+",,\n", 20_000),
	} {
		names.New() // has read its tables, which do not count
		before := heap()
		l, err := watchlist.Read(t.Context(), strings.NewReader(content), watchlist.Format{Type: watchlist.OpenSanctions})
		if err != nil {
			t.Fatal(err)
		}
		took := heap() - before
		t.Logf("%s: %d bytes are counted, %d bytes are on the heap", name, l.Bytes, took)
		if off := float64(l.Bytes)/float64(took) - 1; off > countedWithin || off < -countedWithin {
			t.Errorf("%s: %d bytes are counted, %d bytes are on the heap: want them within %.0f %%", name, l.Bytes, took, 100*countedWithin)
		}
		runtime.KeepAlive(l)
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// people returns a list of n people with different names and a long topic.
func people(n int) string {
	var b strings.Builder
	b.WriteString("name,topics\n")
	for i := range n {
		fmt.Fprintf(&b, "Ivan%d Testov%d,%s\n", i, i, strings.Repeat("x", 1000))
	}
	return b.String()
}

func TestAListThatExceedsTheLimitIsRefused(t *testing.T) {
	folder := t.TempDir()
	sources := make([]watchlist.Source, 0, 2)
	for name, n := range map[string]int{"small": 10, "large": 100} {
		path := filepath.Join(folder, name+".csv")
		rewrite(t, path, people(n), start)
		sources = append(sources, watchlist.Source{Name: name, Path: path, Format: watchlist.Format{Type: watchlist.CSV}})
	}
	open := func(limit int64) (*watchlist.Lists, error) {
		return watchlist.Open(t.Context(), sources, watchlist.Options{
			Log: slog.New(slog.DiscardHandler), Now: time.Now, MaxBytes: limit, Setting: "--list-bytes (VERIFYD_LIST_BYTES)",
		})
	}
	lists, err := open(0)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, name := range lists.Names() {
		l, _ := lists.List(name, start)
		total += l.Bytes
	}
	if _, err := open(total + total/10); err != nil {
		t.Errorf("a limit above the %d bytes of the lists: %v", total, err)
	}
	_, err = open(total / 2)
	if err == nil {
		t.Fatalf("lists of %d bytes are accepted with a limit of %d", total, total/2)
	}
	for _, part := range []string{
		"list large: " + filepath.Join(folder, "large.csv") + ": its first ",
		fmt.Sprintf(" entries exceed the limit --list-bytes (VERIFYD_LIST_BYTES) of %d bytes for all lists, of which other lists take ", total/2),
		": raise the limit, or use a shorter list",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q, want one line", err)
	}
}

func TestAReloadThatExceedsTheLimitKeepsTheList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.csv")
	rewrite(t, path, "name\nIvan Testov\n", start)
	var log strings.Builder
	lists, err := watchlist.Open(t.Context(), []watchlist.Source{{Name: "sanctions", Path: path, Format: watchlist.Format{Type: watchlist.CSV}}},
		watchlist.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now, MaxBytes: 1 << 20, Setting: "--list-bytes"})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := lists.List("sanctions", start)
	if before.Bytes <= 0 || !strings.Contains(log.String(), fmt.Sprintf("bytes=%d", before.Bytes)) {
		t.Errorf("%d bytes, want them in the log:\n%s", before.Bytes, &log)
	}
	rewrite(t, path, people(10_000), start.Add(time.Minute))
	lists.Refresh(t.Context())
	lists.Refresh(t.Context())
	if after, _ := lists.List("sanctions", start); after != before {
		t.Errorf("a list of %d bytes replaced the list", after.Bytes)
	}
	if !strings.Contains(log.String(), "its last version stays in use") || !strings.Contains(log.String(), "exceed the limit --list-bytes of 1048576 bytes") {
		t.Errorf("the log does not say that the limit is exceeded:\n%s", &log)
	}
	rewrite(t, path, people(100), start.Add(2*time.Minute))
	lists.Refresh(t.Context())
	lists.Refresh(t.Context())
	if after, _ := lists.List("sanctions", start); after == before {
		t.Error("a short list did not replace the list")
	}
}

// A page of texts ends after about 1 MiB: entries before and behind the end, and one that is longer
// than a page, are read as they were written.
func TestEntriesAreReadFromEveryPage(t *testing.T) {
	long := strings.Repeat("Ivan Fictional Testov;", 80_000/22)
	entries := make([]watchlist.Entry, 0, 300)
	for i := range 300 {
		e := watchlist.Entry{ID: fmt.Sprint(i), Name: fmt.Sprintf("Ivan%d Testov%d", i, i), Person: true, Countries: []string{"ru"}}
		if i%3 == 0 {
			for k := range 5 {
				e.Topics = append(e.Topics, fmt.Sprint(k, long[:1900]))
			}
		}
		if i == 150 {
			for k := range 800 {
				e.Topics = append(e.Topics, fmt.Sprint(k, long[:1900]))
			}
		}
		entries = append(entries, e)
	}
	l := watchlist.ListOf(entries...)
	for _, e := range entries {
		found, err := l.Search(watchlist.Subject{Kind: names.Person, Name: e.Name}, 0.99)
		if err != nil || len(found.Hits) == 0 {
			t.Fatalf("%s: %+v, %v, want a hit", e.Name, found, err)
		}
		if hit := found.Hits[0]; hit.ID != e.ID || hit.Name != e.Name || fmt.Sprint(hit.Topics) != fmt.Sprint(e.Topics) || fmt.Sprint(hit.Countries) != "[ru]" {
			t.Errorf("%s: hit %s %s with %d topics, want %d", e.Name, hit.ID, hit.Name, len(hit.Topics), len(e.Topics))
		}
	}
}
