// Tests of the reserve of a disk whose size is made up.

package server

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
)

func TestTheReserveGrowsWithTheDiskWithinBounds(t *testing.T) {
	for _, tt := range []struct{ all, given, want int64 }{
		{64 << 20, 0, 1 << 30},
		{10 << 30, 0, 1 << 30},
		{100 << 30, 0, 5 << 30},
		{4 << 40, 0, 20 << 30},
		{4 << 40, 128 << 20, 128 << 20},
	} {
		s := &space{given: tt.given, size: func(string) (datadir.Disk, error) { return datadir.Disk{All: tt.all}, nil }}
		if _, got, err := s.read(); got != tt.want || err != nil {
			t.Errorf("the reserve of %d bytes with the setting %d = %d, %v; want %d", tt.all, tt.given, got, err, tt.want)
		}
	}
}

func TestTheLogSaysWhenADiskHasNoReserve(t *testing.T) {
	var free int64
	var failure error
	s := newSpace("data", 1000)
	s.size = func(string) (datadir.Disk, error) { return datadir.Disk{All: 9000, Free: free}, failure }
	for n, step := range []struct {
		free    int64
		err     error
		refused bool
		want    string
	}{
		{1000, nil, false, ""},
		{999, nil, true, "level=ERROR"},
		{10, nil, true, ""},
		{0, syscall.EIO, false, "is not known"},
		{0, syscall.EIO, false, ""},
		{10, nil, true, ""},
		{2000, nil, false, "has its reserve again"},
	} {
		free, failure = step.free, step.err
		var log bytes.Buffer
		s.say(slog.New(slog.NewTextHandler(&log, nil)))
		if step.want == "" && log.Len() > 0 || !strings.Contains(log.String(), step.want) {
			t.Errorf("step %d: the log says %q, want %q", n, log.String(), step.want)
		}
		if err := s.room(); errors.Is(err, verification.ErrUnavailable) != step.refused {
			t.Errorf("step %d: room = %v, want a refusal: %t", n, err, step.refused)
		}
	}
}

// An upload into a folder that nothing finds any more is not acknowledged.
func TestAnUploadIntoAMovedFolderIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "documents")
	d, err := openDocumentFolder(dir, Settings{DiskReserve: minDiskReserve})
	if err != nil {
		t.Fatal(err)
	}
	r := verification.RunRef{Tenant: "019f3c00-0000-7000-8000-00000000000a", Run: "019f3c00-0000-7000-8000-000000000001"}
	save := func(id string) error {
		_, err := d.SaveDocument(t.Context(), r, verification.Document{ID: id, CreatedAt: time.Now()}, strings.NewReader("a file"))
		return err
	}
	if err := save("019f3c00-0000-7000-8000-000000000002"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.CopyFS(dir, os.DirFS(dir+".old"))); err != nil {
		t.Fatal(err)
	}
	if err := save("019f3c00-0000-7000-8000-000000000003"); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("SaveDocument = %v, want unavailable", err)
	}
}

func TestANearlyFullDiskTakesNoUploads(t *testing.T) {
	d, err := openDocumentFolder(t.TempDir(), Settings{DiskReserve: 1 << 62}) // more than any disk has
	if err != nil {
		t.Fatal(err)
	}
	r := verification.RunRef{Tenant: "019f3c00-0000-7000-8000-00000000000a", Run: "019f3c00-0000-7000-8000-000000000001"}
	of := verification.Document{ID: "019f3c00-0000-7000-8000-000000000002", CreatedAt: time.Now()}
	if _, err := d.SaveDocument(t.Context(), r, of, strings.NewReader("a file")); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("SaveDocument = %v, want unavailable", err)
	}
}

func TestARunNeedsSpaceAboveTheReserve(t *testing.T) {
	const reserve, free = 128 << 20, 1000
	s, err := openStorage(t.Context(), Settings{DataDir: t.TempDir(), StoreMemory: 0.5, DiskReserve: reserve}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.folder.space.size = func(string) (datadir.Disk, error) { return datadir.Disk{All: 1 << 40, Free: reserve + free}, nil }
	if s.capacity.limits.Disk == nil {
		t.Fatal("the disk does not bound the share of a tenant")
	}
	if left, err := s.capacity.limits.Disk(); left != free || err != nil {
		t.Errorf("the disk has %d bytes left for runs, %v; want %d", left, err, free)
	}
}
