// The trail: whether records and files follow from each other, up to the mark.

package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/verifyd/verifyd/verification/store"
)

// trail follows the records of a journal in their order.
type trail struct {
	mark   *marked // nil if there is none
	noMark error   // why
	end    position
	began  bool // a record was read
	lost   bool // the next record that can be read begins anew, after damage
	harmed bool // there was damage
	other  bool // at the mark, other records were read than were written
	level  int  // of the journal
}

// newTrail returns the beginning of the trail on a disk. It returns ErrConflict if the level of the journal is above the one that
// the build reads, which would take new records for damage.
func newTrail(d disk, reads int) (t trail, err error) {
	if t.level, err = readLevel(d); err == nil {
		err = store.CheckLevel(t.level, reads)
	}
	if err != nil {
		return t, err
	}
	t.mark, t.noMark, err = readMark(d)
	if t.mark != nil {
		t.end = position{Journal: t.mark.End.Journal, Sum: t.mark.End.Journal}
	}
	if err == nil && (t.mark == nil || t.mark.End.Segment == 0) {
		err = refuseFirst(d)
	}
	return t, err
}

// errFirst is returned for a folder with a journal of version 1, whose records have no running checksum.
var errFirst = errors.New("its records have version 1, which this build does not read: open the folder once with a build of commit " +
	"184a68b0, which converts it")

// refuseFirst returns errFirst if the journal begins with a record of version 1. The JSON in it comes 4 bytes earlier.
func refuseFirst(d disk) error {
	names, err := d.List()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	replaced, numbers := current(names)
	name := snapshotName(replaced)
	switch {
	case replaced > 0:
	case len(numbers) == 0:
		return nil
	default:
		name = segmentName(numbers[0])
	}
	f, err := d.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	var head [headerSize - 3]byte
	_, err = io.ReadFull(f, head[:])
	if err = errors.Join(err, f.Close()); err == nil && head[13] == 1 && head[14] == '{' {
		return fmt.Errorf("%s: %w", name, errFirst)
	}
	return nil
}

// readLevel returns the level of a journal: the highest one in the first records of its files. A file that cannot be read has none.
func readLevel(d disk) (level int, err error) {
	names, err := d.List()
	if err != nil {
		return 0, fmt.Errorf("list the files: %w", err)
	}
	replaced, numbers := current(names)
	files := []string{snapshotName(replaced)}
	for _, n := range numbers {
		files = append(files, segmentName(n))
	}
	level = 1
	for _, name := range files {
		f, err := d.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // there is no snapshot, or a process has removed the file
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("open %s: %w", name, err)
		}
		var head struct{ Level int } // a later build may have added fields
		if first, err := readFrameFrom(bufio.NewReader(f)); err == nil && json.Unmarshal(first.payload, &head) == nil {
			level = max(level, head.Level)
		}
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return level, nil
}

// written returns a level as the first record of a file has it: journals of before have none.
func written(level int) int {
	if level == 1 {
		return 0
	}
	return level
}

// Why a record that can be read does not follow.
var (
	errForeign = errors.New("it is of another journal")
	errChain   = errors.New("it does not follow from the record before it: records were removed, doubled or moved")
)

// snapshot begins with the first record of the snapshot that replaces the segments up to a number.
func (t *trail) snapshot(head snapshotBegun, number int) error {
	t.began = true
	switch {
	case t.mark != nil && head.After.Journal != t.mark.End.Journal:
		return errForeign
	case head.After.Segment != number:
		return errors.New("it is of another snapshot")
	default:
		t.end = head.After
	}
	return nil
}

// segment goes on with the first record of a segment.
func (t *trail) segment(f frame, first record, number int) error {
	t.began = true
	head, ok := first.(begun)
	if !ok || head.Segment != number {
		return errors.New("it does not begin this segment")
	}
	if t.end.Segment == 0 && t.mark == nil {
		t.end = position{Journal: head.After.Journal, Sum: head.After.Sum}
	}
	switch {
	case t.lost:
	case head.After.Journal != t.end.Journal:
		return errForeign
	case head.After.Segment == t.end.Segment && t.end.Bytes < head.After.Bytes:
		return fmt.Errorf("the segment before it is cut: %d bytes are missing at its end", head.After.Bytes-t.end.Bytes)
	case head.After == t.end, t.harmed && head.After.sameAs(t.end):
	default:
		return errChain
	}
	t.end, t.lost = head.After, false
	t.end.Segment, t.end.Bytes = number, 0
	t.pass(f)
	return nil
}

// record goes on with the next record of a segment.
func (t *trail) record(f frame) error {
	if t.lost {
		t.lost, t.end.Sum = false, f.previous
	}
	if f.previous != t.end.Sum {
		return errChain
	}
	t.end.Sum = follow(t.end.Sum, f.checksum)
	t.end.Records++
	t.pass(f)
	return nil
}

// pass moves the end to the end of a frame, and notes if the mark there, or within the frame, says
// something else.
func (t *trail) pass(f frame) {
	before := t.end
	t.end.Bytes += int64(f.size())
	if !t.harmed && t.mark != nil && t.mark.End.Segment == t.end.Segment && before.before(t.mark.End) && !t.end.before(t.mark.End) {
		t.other = t.end != t.mark.End
	}
}

// skip notes damage up to an offset of a segment.
func (t *trail) skip(segment int, offset int64) {
	t.began, t.lost, t.harmed, t.end.Segment, t.end.Bytes = true, true, true, segment, offset
}

// marks reports whether what is at an offset of a segment was on disk when the mark was written.
func (t *trail) marks(segment int, offset int64) bool {
	return t.mark != nil && position{Segment: segment, Bytes: offset}.before(t.mark.End)
}

// short returns an error if the segment that was read ends before the mark in it, or has other
// records than were there when the mark was written.
func (t *trail) short() error {
	if t.other {
		t.other = false
		return errors.New("the file has other records than were on disk: it was replaced, or records were removed, doubled or moved")
	}
	if !t.marks(t.end.Segment, t.end.Bytes) || t.mark.End.Segment != t.end.Segment {
		return nil
	}
	return fmt.Errorf("the file ends here, and had %d bytes more", t.mark.End.Bytes-t.end.Bytes)
}

// torn reports whether a frame at an offset of a segment that cannot be read may be one that was
// not written completely, and not damage. last says that no segment follows.
func (t *trail) torn(segment int, raw []byte, offset int, last bool) bool {
	return last && !t.marks(segment, int64(offset)) && !syncedAfter(raw, offset)
}

// oneGroup reports whether the end of a segment is what a group leaves that was not written
// completely: its first frame as far as it is there, or zeros.
func (t *trail) oneGroup(rest []byte) bool {
	f, _ := readFrame(rest)
	none := [headerSize]byte{}
	switch {
	case len(rest) < headerSize || [headerSize]byte(rest[:headerSize]) == none:
		return true
	case f.kind == kindBegun:
		return t.end.Bytes == 0
	}
	return f.kind <= lastKind && f.version == currentVersion && f.previous == t.end.Sum
}

// missing returns an error if the journal has no mark and should have one.
func (t *trail) missing() error {
	if t.mark != nil || !t.began {
		return nil
	}
	return t.noMark
}

// cost says how much of what was on disk comes after the end; empty if that is not known.
func (t *trail) cost(runs int) string {
	if t.mark == nil || !t.end.before(t.mark.End) {
		return ""
	}
	return fmt.Sprintf("; the journal had %d records and %d runs, of which %d and %d are before this",
		t.mark.End.Records, t.mark.Runs, t.end.Records, runs)
}
