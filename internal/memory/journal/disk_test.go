package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

// fakeDisk is a disk in memory. It loses what is not synced when the power fails, and fails
// in an operation that a test chooses.
type fakeDisk struct {
	mu     sync.Mutex
	files  map[string]*fakeFile // what a process sees
	synced map[string]*fakeFile // the entries of the folder that survive
	ops    []string             // so far
	failAt int                  // the index of the operation that fails; negative for none
	short  bool                 // a failing write writes half
	gate   chan struct{}        // if not nil, a write waits until it is closed
	gated  string               // how the names of the files end to which writes wait; empty for all
}

type fakeFile struct {
	disk    *fakeDisk
	name    string
	data    []byte
	durable []byte // at the last sync
}

func newFakeDisk() *fakeDisk {
	return &fakeDisk{files: map[string]*fakeFile{}, synced: map[string]*fakeFile{}, failAt: -1}
}

// put makes a file that survives.
func (d *fakeDisk) put(name string, content []byte) {
	d.files[name] = &fakeFile{disk: d, name: name, data: bytes.Clone(content), durable: bytes.Clone(content)}
	d.synced[name] = d.files[name]
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

func (d *fakeDisk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.files)), d.op("list")
}

func (d *fakeDisk) Open(name string) (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(slices.Clone(d.files[name].data))), d.op("open %s", name)
}

func (d *fakeDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("rename %s", from); err != nil {
		return err
	}
	f := d.files[from]
	f.name = to
	d.files[to] = f
	delete(d.files, from)
	return nil
}

func (d *fakeDisk) Create(name string) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("create %s", name); err != nil {
		return nil, err
	}
	if d.files[name] != nil {
		return nil, fmt.Errorf("%s exists", name)
	}
	f := &fakeFile{disk: d, name: name}
	d.files[name] = f
	return f, nil
}

func (d *fakeDisk) Prepare(name string, _ int64) (journal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("prepare %s", name); err != nil {
		return nil, err
	}
	f := &fakeFile{disk: d, name: name}
	d.files[name] = f
	return f, nil
}

func (d *fakeDisk) Overwrite(name string) (journal.Blocks, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("overwrite %s", name); err != nil {
		return nil, err
	}
	f := d.files[name]
	if f == nil {
		f = &fakeFile{disk: d, name: name}
		d.files[name] = f
	}
	return f, nil
}

func (d *fakeDisk) Cut(name string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("cut %s", name); err != nil {
		return err
	}
	f := d.files[name]
	f.data = f.data[:size]
	f.durable = slices.Clone(f.data)
	return nil
}

func (d *fakeDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("remove %s", name); err != nil {
		return err
	}
	delete(d.files, name)
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
	if f.disk.gate != nil && strings.HasSuffix(f.name, f.disk.gated) {
		<-f.disk.gate
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.op("write %s", f.name); err != nil {
		if !f.disk.short {
			return 0, err
		}
		f.data = append(f.data, b[:len(b)/2]...)
		return len(b) / 2, nil
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *fakeFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	n, err := len(b), f.disk.op("write %s", f.name)
	if err != nil && !f.disk.short {
		return 0, err
	} else if err != nil {
		n /= 2
	}
	if room := int(at) + n - len(f.data); room > 0 {
		f.data = append(f.data, make([]byte, room)...)
	}
	copy(f.data[at:], b[:n])
	return n, err
}

func (f *fakeFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.op("sync %s", f.name); err != nil {
		return err
	}
	f.durable = bytes.Clone(f.data)
	return nil
}

func (f *fakeFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.disk.op("close %s", f.name)
}

// size returns the size of all files.
func (d *fakeDisk) size() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		n += len(f.data)
	}
	return n
}

// afterPowerLoss returns the disk as another process finds it: only what was synced.
func (d *fakeDisk) afterPowerLoss() *fakeDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newFakeDisk()
	for n, f := range d.synced {
		after.files[n] = &fakeFile{disk: after, name: n, data: bytes.Clone(f.durable), durable: f.durable}
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
		after.files[n] = &fakeFile{disk: after, name: n, data: bytes.Clone(f.data), durable: f.durable}
	}
	after.synced = maps.Clone(d.synced)
	return after
}

// A start syncs the last segment, which a backup may have been unpacked to, the head of its own, the
// folder, and the mark that names the segment, and a stop syncs one mark.
func TestARestartSyncsNothingTwice(t *testing.T) {
	t.Parallel()
	d := newFakeDisk()
	var before int
	for i := range 2 { // the first start makes the file of the marks
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			err = startRun(t.Context(), s, 0)
		}
		closed(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = len(d.ops)
		}
	}
	var syncs []string
	for _, op := range d.ops[before:] {
		if strings.HasPrefix(op, "sync") || strings.HasPrefix(op, "cut") {
			syncs = append(syncs, op)
		}
	}
	want := []string{"cut 0000000001.journal", "sync next-segment", "sync the folder", "sync end", "sync end"}
	if !slices.Equal(syncs, want) {
		t.Errorf("a start and a stop sync %q, want %q", syncs, want)
	}
}
