// Test of a host in a process of its own whose memory is filled.

package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const stories = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: story
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Story
        start: form
        input_schema: {properties: {words: {type: string, x-search: true}}}
        nodes:
          form:
            type: customer_input
            label: Form
            fields: {story: {type: textarea, label: Story, max_length: 100000, required: true}}
            next: done
          done: {type: end}
`

// gauge reads a metric of the host.
func (s *served) gauge(name string) float64 {
	s.t.Helper()
	_, metrics, _ := s.call("GET", s.admin+"/metrics", "")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(metrics)
	if found == nil {
		s.t.Fatalf("no metric %s", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// letters writes a number in letters, because digits are not part of a name.
func letters(n int) string {
	return strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(n))
}

// TestWhatIsCountedIsWhatAProcessNeeds fills a host with starts, and then with answers.
func TestWhatIsCountedIsWhatAProcessNeeds(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || raceDetector {
		t.Skip("it takes some seconds, only Linux reports the memory of another process, and the race detector needs several times as much")
	}
	const limit, share, more, mebibyte = 200, 0.05, 0.125, 1 << 20
	// With so little garbage, the heap is about what is live: the runs, and the cache of folded ones.
	h, s := startOn(t, newFolder(t), "127.0.0.1:0", "GOMEMLIMIT="+fmt.Sprint(limit)+"MiB", "GOGC=10",
		"VERIFYD_BOOTSTRAP="+bootstrapFile(t, stories), "VERIFYD_STORE_MEMORY="+fmt.Sprint(share), "VERIFYD_LOG_LEVEL=error")
	host := &child{served: *s, process: h.Cmd}
	heap := func() float64 { return s.gauge("go_memstats_heap_alloc_bytes") }
	before := heap() - s.gauge("verifyd_store_bytes")

	var mu sync.Mutex
	var runs []string
	fill := func(what string, bound float64, sentence string, add func(n int) (url, body string)) {
		t.Helper()
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for status := 0; status < 300; {
					url, body := add(int(next.Add(1)) - 1)
					var answer string
					var err error
					if status, answer, err = tryStart(url, strings.NewReader(body)); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if status == http.StatusAccepted {
						runs = append(runs, regexp.MustCompile(`"id":"(.+?)"`).FindStringSubmatch(answer)[1])
					}
					mu.Unlock()
					if status >= 300 && (status != http.StatusServiceUnavailable || !strings.Contains(answer, sentence)) {
						t.Errorf("%s in a full host = %d %s, want 503: %s", what, status, answer, sentence)
					}
				}
			})
		}
		wg.Wait()
		kept, needed := s.gauge("verifyd_store_bytes"), heap()-before
		if kept < bound*limit*mebibyte || kept > (bound+0.02)*limit*mebibyte {
			t.Errorf("after %s the host counts %.1f MiB, want about %.1f", what, kept/mebibyte, bound*limit)
		}
		if ratio := kept / needed; ratio < 0.5 || ratio > 1.3 {
			t.Errorf("after %s the host counts %.1f MiB, and its heap has %.1f MiB more than before", what, kept/mebibyte, needed/mebibyte)
		}
		if anonymous := host.memory("RssAnon"); anonymous > limit*mebibyte {
			t.Errorf("after %s the process has %d MiB, and may have %d", what, anonymous/mebibyte, limit)
		}
		t.Logf("after %s: %d runs, %.1f MiB counted, %.1f MiB more in the heap", what, len(runs), kept/mebibyte, needed/mebibyte)
	}
	fill("starts", share, "The service has no memory left for new runs", func(n int) (url, body string) {
		var words strings.Builder
		for i := range 64 {
			words.WriteString(letters(n*64+i) + " ")
		}
		return s.api + records, `{"reference_id":"person-1","input":{"words":"` + words.String() + `"}}`
	})
	if t.Failed() {
		return
	}
	story := `{"payload":{"story":"` + strings.Repeat("a", 60_000) + `"}}`
	fill("answers", share+more, "The service has no memory left for answers", func(n int) (url, body string) {
		return s.api + "/v1/signals/" + runs[min(n, len(runs)-1)] + "/form_submitted", story
	})
	last := runs[len(runs)-1]
	if status, body, _ := s.call("POST", s.api+"/v1/runs/"+last+"/cancel", ""); status != http.StatusOK {
		t.Errorf("a cancel in a full host = %d %s", status, body)
	}
}
