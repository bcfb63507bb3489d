package blob_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

func TestFullMemoryIsUnavailable(t *testing.T) {
	s := blob.Memory(3<<20, 3<<20)
	save := func(n, length int) error {
		_, err := s.SaveDocument(t.Context(), someRun(1), upload(n), bytes.NewReader(somePDF(length)))
		return err
	}
	for n := range 2 {
		if err := save(n, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		if err := save(10+n, 1<<20); !errors.Is(err, verification.ErrUnavailable) {
			t.Errorf("SaveDocument of 1 MiB with less free: %v, want unavailable", err)
		}
		if _, err := s.Document(t.Context(), someRun(1), upload(10+n).ID); !errors.Is(err, verification.ErrNotFound) {
			t.Errorf("Document of a document that was not stored: %v, want not found", err)
		}
		if err := save(10+n, 1<<20-4<<10); n == 0 && err != nil {
			t.Errorf("SaveDocument of a document that fits: %v, want no error", err)
		}
	}
}

func TestRefusedDocumentsReleaseTheirSpace(t *testing.T) {
	s := blob.Memory(2<<20, 2<<20)
	for n := range 20 {
		refused := io.MultiReader(bytes.NewReader(somePDF(1<<20)), iotest.ErrReader(refusal()))
		if _, err := s.SaveDocument(t.Context(), someRun(1), upload(n), refused); !errors.Is(err, verification.ErrInvalid) {
			t.Fatalf("SaveDocument number %d of a refused file: %v, want invalid", n, err)
		}
	}
	if _, err := s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(1<<20))); err != nil {
		t.Errorf("SaveDocument of a document that fits: %v, want no error", err)
	}
	// The same id again. There is space for it.
	for range 20 {
		if _, err := s.SaveDocument(t.Context(), someRun(1), upload(1), bytes.NewReader(somePDF(500_000))); !errors.Is(err, verification.ErrConflict) {
			t.Fatalf("SaveDocument under an id that is taken: %v, want conflict", err)
		}
	}
}

func TestManySmallDocumentsFillTheMemory(t *testing.T) {
	s := blob.Memory(1<<20, 1<<20)
	for n := range 2000 {
		if _, err := s.SaveDocument(t.Context(), someRun(1), upload(n), bytes.NewReader(somePDF(0))); err != nil {
			if !errors.Is(err, verification.ErrUnavailable) {
				t.Errorf("SaveDocument: %v, want unavailable", err)
			}
			return
		}
	}
	t.Error("a store of 1 MiB took 2000 small documents, want each to count more than its content")
}

func TestMemoryHoldsAboutItsLimit(t *testing.T) {
	const limit, uploads = 32 << 20, 16
	s := blob.Memory(limit, limit)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for n := range uploads {
		wg.Go(func() {
			content := io.MultiReader(bytes.NewReader(somePDF(0)[:20]), io.LimitReader(zeros{}, 4<<20), bytes.NewReader(somePDF(0)))
			_, err := s.SaveDocument(t.Context(), someRun(n), upload(n), content)
			if err != nil && !errors.Is(err, verification.ErrUnavailable) {
				t.Errorf("SaveDocument: %v", err)
			}
		})
	}
	wg.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > limit+4<<20 {
		t.Errorf("a store of %d bytes holds %d", limit, grown)
	}
	runtime.KeepAlive(s)
}
