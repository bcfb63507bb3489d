package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/adapters/memory/journal"
)

// fakeDisk is a disk in memory. It loses what is not synced when the power fails, and fails
// in an operation that a test chooses.
type fakeDisk struct {
	mu     sync.Mutex
	files  map[int]*fakeFile // what a process sees
	synced map[int]*fakeFile // the entries of the folder that survive
	ops    []string          // so far
	failAt int               // the index of the operation that fails; negative for none
	short  bool              // a failing write writes half
	gate   chan struct{}     // if not nil, a write waits until it is closed
}

type fakeFile struct {
	disk    *fakeDisk
	segment int
	data    []byte
	durable []byte // at the last sync
}

func newFakeDisk() *fakeDisk {
	return &fakeDisk{files: map[int]*fakeFile{}, synced: map[int]*fakeFile{}, failAt: -1}
}

var errNoSpace = errors.New("no space left on device")

// op begins an operation. The caller holds mu.
func (d *fakeDisk) op(format string, args ...any) error {
	d.ops = append(d.ops, fmt.Sprintf(format, args...))
	if len(d.ops)-1 == d.failAt {
		return errNoSpace
	}
	return nil
}

func (d *fakeDisk) Segments() ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.files)), d.op("list")
}

func (d *fakeDisk) Read(segment int) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.files[segment].data), d.op("read %d", segment)
}

func (d *fakeDisk) Create(segment int) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("create %d", segment); err != nil {
		return nil, err
	}
	if d.files[segment] != nil {
		return nil, fmt.Errorf("segment %d exists", segment)
	}
	f := &fakeFile{disk: d, segment: segment}
	d.files[segment] = f
	return f, nil
}

func (d *fakeDisk) Cut(segment int, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("cut %d", segment); err != nil {
		return err
	}
	f := d.files[segment]
	f.data = f.data[:size]
	f.durable = slices.Clone(f.data)
	return nil
}

func (d *fakeDisk) Remove(segment int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("remove %d", segment); err != nil {
		return err
	}
	delete(d.files, segment)
	return nil
}

func (d *fakeDisk) SyncFolder() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("sync the folder"); err != nil {
		return err
	}
	d.synced = maps.Clone(d.files)
	return nil
}

func (f *fakeFile) Write(b []byte) (int, error) {
	if f.disk.gate != nil {
		<-f.disk.gate
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.op("write %d", f.segment); err != nil {
		if !f.disk.short {
			return 0, err
		}
		f.data = append(f.data, b[:len(b)/2]...)
		return len(b) / 2, nil
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *fakeFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.op("sync %d", f.segment); err != nil {
		return err
	}
	f.durable = bytes.Clone(f.data)
	return nil
}

func (f *fakeFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.disk.op("close %d", f.segment)
}

// afterPowerLoss returns the disk as another process finds it: only what was synced.
func (d *fakeDisk) afterPowerLoss() *fakeDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newFakeDisk()
	for n, f := range d.synced {
		after.files[n] = &fakeFile{disk: after, segment: n, data: bytes.Clone(f.durable), durable: f.durable}
	}
	after.synced = maps.Clone(after.files)
	return after
}

// afterKill returns the disk as another process finds it after this one was killed.
func (d *fakeDisk) afterKill() *fakeDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newFakeDisk()
	for n, f := range d.files {
		after.files[n] = &fakeFile{disk: after, segment: n, data: bytes.Clone(f.data), durable: f.durable}
	}
	after.synced = maps.Clone(d.synced)
	return after
}
