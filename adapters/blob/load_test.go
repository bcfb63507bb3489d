package blob_test

import (
	"bytes"
	"image"
	imagejpeg "image/jpeg"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
)

func someJPEG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := imagejpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 48)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// largest returns uploads of the maximum size; only their length is in memory.
func largest(head, tail []byte) func() io.Reader {
	filling := int64(verification.MaxDocumentBytes - len(head) - len(tail))
	return func() io.Reader {
		return io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, filling), bytes.NewReader(tail))
	}
}

// TestFiftyConcurrentUploadsTakeLittleMemory also checks that all of them are in
// flight at the same time.
func TestFiftyConcurrentUploadsTakeLittleMemory(t *testing.T) {
	const uploads, limit = 50, 64 << 20
	s := folder(t, t.TempDir())
	jpeg, pdf := someJPEG(t), somePDF(0)
	contents := []func() io.Reader{
		largest(jpeg[:len(jpeg)-2], jpeg[len(jpeg)-2:]), // one long scan
		largest(pdf[:10], pdf[10:]),
		largest(jpeg, nil), // after the end
	}
	peak := &sampled{}
	runtime.GC()
	before := peak.sample()
	var started, wg sync.WaitGroup
	started.Add(uploads)
	for n := range uploads {
		wg.Go(func() {
			content := &watched{content: contents[n%len(contents)](), started: &started, peak: peak}
			defer content.begin() // also when nothing was read: the others wait
			_, kept, err := media.Sanitize(t.Context(), content, nil)
			if err != nil {
				t.Errorf("Sanitize: %v", err)
				return
			}
			defer kept.Close()
			if _, err := s.SaveDocument(t.Context(), someRun(n), upload(n), kept); err != nil {
				t.Errorf("SaveDocument: %v", err)
			}
		})
	}
	wg.Wait()
	grown := peak.max.Load() - before
	t.Logf("%d uploads of 10 MiB at once: %d KiB above idle", uploads, grown>>10)
	if grown > limit {
		t.Errorf("the heap grew by %d MiB, want at most %d", grown>>20, limit>>20)
	}
}

// sampled is the maximum size of the heap.
type sampled struct{ max atomic.Int64 }

func (s *sampled) sample() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now := int64(m.HeapAlloc)
	for {
		old := s.max.Load()
		if now <= old || s.max.CompareAndSwap(old, now) {
			return now
		}
	}
}

// watched is an upload that waits until all have started, and samples the heap
// once every mebibyte.
type watched struct {
	content io.Reader
	started *sync.WaitGroup
	peak    *sampled
	read    int64
	begun   bool
}

func (w *watched) begin() {
	if !w.begun {
		w.begun = true
		w.started.Done()
	}
}

func (w *watched) Read(p []byte) (int, error) {
	w.begin()
	w.started.Wait()
	n, err := w.content.Read(p)
	if before := w.read; before>>20 != (before+int64(n))>>20 {
		w.peak.sample()
	}
	w.read += int64(n)
	return n, err
}
