package journal

import (
	"context"
	"os"
	"reflect"
	"strings"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

type (
	Disk   = disk
	File   = file
	Blocks = blocks
)

// OpenDisk opens the journal on a disk.
func OpenDisk(ctx context.Context, d Disk, o Options) (*Store, error) { return open(ctx, d, o) }

// FolderDisk returns the disk of a folder.
func FolderDisk(dir string) (Disk, error) {
	root, err := os.OpenRoot(dir)
	return folder{root}, err
}

// Memory returns the memory store, whose reads do not wait.
func (s *Store) Memory() *memstore.Store { return s.memory }

// CutParts sets how much memory the events in one record need.
func (s *Store) CutParts(bytes int) { s.partBytes = bytes }

// SegmentName returns the name of the file of a segment.
func SegmentName(segment int) string { return segmentName(segment) }

// SnapshotName returns the name of the file of a snapshot.
func SnapshotName(segment int) string { return snapshotName(segment) }

// Frame is a frame of a segment.
type Frame struct {
	Kind     string
	Offset   int
	Size     int
	Group    int // the offset of the first frame of its group
	Payload  string
	Previous uint32
}

// Frames returns the frames at the start of a segment.
func Frames(raw []byte) (all []Frame) {
	for at := 0; ; {
		f, err := readFrame(raw[at:])
		if err != nil {
			return all
		}
		all = append(all, Frame{f.kind.String(), at, f.size(), at - f.group, string(f.payload), uint32(f.previous)})
		at += f.size()
	}
}

// AppendFrame appends a frame with the payload of a Frame.
func AppendFrame(group []byte, k, version byte, previous uint32, payload string) []byte {
	return appendVersion(group, kind(k), version, sum(previous), []byte(strings.TrimSuffix(payload, "\n")))
}

// EndFile is the name of the file of the marks.
const EndFile = endFile

// NoMark returns the marks of a journal, of which there is a file, when it had no segment yet: then
// nothing is known about its end.
func NoMark(segment []byte) []byte {
	f, err := readFrame(segment)
	end := position{Journal: f.previous, Sum: f.previous}
	if r, failed := decode(f); err == nil && failed == nil {
		switch head := r.(type) {
		case begun:
			end.Journal, end.Sum = head.After.Journal, head.After.Journal
		case snapshotBegun:
			end.Journal, end.Sum = head.After.Journal, head.After.Journal
		}
	}
	block, _ := encodeMark(marked{End: end})
	return block
}

// Kinds returns the kinds of records.
func Kinds() (all []string) {
	for k := kindBegun; k <= lastKind; k++ {
		all = append(all, k.String())
	}
	return all
}

// RecordType is a kind of records.
type RecordType struct {
	Number, Since int
	Name          string
	Type          reflect.Type
}

// RecordTypes returns all kinds of records, and the version that this build writes.
func RecordTypes() (types []RecordType, version int) {
	for k, of := range kinds() {
		if of.decode != nil {
			r, _ := of.decode([]byte("{}")) // a record that lacks something has its type, too
			types = append(types, RecordType{k, of.since, of.name, reflect.TypeOf(r)})
		}
	}
	return types, currentVersion
}

// CheckDisk examines the journal on a disk.
func CheckDisk(ctx context.Context, d Disk) (Report, error) {
	c := newCheck(false, nil)
	err := c.all(ctx, d)
	return c.Report, err
}

// LookNow looks at the folder once.
func (s *Store) LookNow() error { return s.writer.look() }

// SpareFile is the name of the file of the next segment.
const SpareFile = spareFile

// CheckUsedDisk is CheckDisk for a folder with other data beside it.
func CheckUsedDisk(ctx context.Context, d Disk) (Report, error) {
	c := newCheck(true, nil)
	err := c.all(ctx, d)
	return c.Report, err
}

// SetLevel sets the level of the store.
func (s *Store) SetLevel(level int) { s.level = level }

// Reading returns the options of a build that reads up to a level.
func (o Options) Reading(level int) Options {
	o.reads = level
	return o
}
