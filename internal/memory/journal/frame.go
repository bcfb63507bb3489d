// Frames: the form of a record in a segment.

package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// A frame is a header and a JSON object with a line feed. The integers of the header are
// little-endian:
//
//	length   4 bytes  of the JSON and the line feed
//	checksum 4 bytes  CRC-32C of everything else in the frame
//	group    4 bytes  from the start of the group to the frame
//	kind     1 byte
//	version  1 byte   of the kind
//	previous 4 bytes  the running checksum of the records before it
//
// A group is written at once, after the group before it has been synced. So a frame says up
// to where the segment was on disk before: everything before its group.
const headerSize = 18

// maxPayload bounds the JSON of a record.
const maxPayload = 1 << 26

// frame is one frame of a segment.
type frame struct {
	group    int // from the start of the group to the frame, in bytes
	kind     kind
	version  byte
	previous sum
	payload  []byte // with its line feed
	checksum uint32
}

func (f frame) size() int { return headerSize + len(f.payload) }

// appendFrame appends the frame of a record to a group. previous is the running checksum of the
// records before it.
func appendFrame(group []byte, k kind, previous sum, payload []byte) []byte {
	return appendVersion(group, k, currentVersion, previous, payload)
}

func appendVersion(group []byte, k kind, version byte, previous sum, payload []byte) []byte {
	start := len(group)
	group = binary.LittleEndian.AppendUint32(group, uint32(len(payload)+1))
	group = append(group, 0, 0, 0, 0)
	group = binary.LittleEndian.AppendUint32(group, uint32(start))
	group = append(group, byte(k), version)
	group = binary.LittleEndian.AppendUint32(group, uint32(previous))
	group = append(append(group, payload...), '\n')
	binary.LittleEndian.PutUint32(group[start+4:], checksum(group[start:]))
	return group
}

// follow returns the running checksum of records and of the one after them, whose frame has a
// checksum.
func follow(running sum, checksum uint32) sum {
	var next [4]byte
	binary.LittleEndian.PutUint32(next[:], checksum)
	return sum(crc32.Update(uint32(running), crc32.MakeTable(crc32.Castagnoli), next[:]))
}

// checksum returns the checksum of a frame.
func checksum(raw []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once by the library
	return crc32.Update(crc32.Checksum(raw[:4], table), table, raw[8:])
}

// Why a frame cannot be read.
var (
	errShort    = errors.New("the record is incomplete")
	errNoFrame  = errors.New("there is no record")
	errChecksum = errors.New("the checksum does not match")
)

// readFrame reads the frame at the start of raw. If it cannot be read, the payload is what
// there is of it.
func readFrame(raw []byte) (frame, error) {
	if len(raw) < headerSize {
		return frame{}, errShort
	}
	length := binary.LittleEndian.Uint32(raw)
	f := frame{
		kind: kind(raw[12]), version: raw[13], group: int(binary.LittleEndian.Uint32(raw[8:])),
		previous: sum(binary.LittleEndian.Uint32(raw[14:])), checksum: binary.LittleEndian.Uint32(raw[4:]),
	}
	switch {
	case length < 3 || length > maxPayload || f.group > math.MaxInt32:
		return f, errNoFrame
	case len(raw) < headerSize+int(length):
		f.payload = raw[headerSize:]
		return f, errShort
	}
	raw = raw[:headerSize+int(length)]
	f.payload = raw[headerSize:]
	if f.payload[0] != '{' || !bytes.HasSuffix(f.payload, []byte("}\n")) || checksum(raw) != f.checksum {
		return f, errChecksum
	}
	return f, nil
}

// readFrameFrom reads the next frame; io.EOF if there is none.
func readFrameFrom(r *bufio.Reader) (frame, error) {
	head, err := r.Peek(headerSize)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return frame{}, io.EOF
	}
	size := len(head)
	if err == nil {
		if length := binary.LittleEndian.Uint32(head); length <= maxPayload { // as readFrame checks
			size = headerSize + int(length)
		}
	} else if !errors.Is(err, io.EOF) {
		return frame{}, err
	}
	raw := make([]byte, size)
	n, err := io.ReadFull(r, raw)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return frame{}, err
	}
	return readFrame(raw[:n])
}

// syncedAfter reports whether a frame after the offset was written when everything up to the
// offset and beyond had been synced. Then no crash can have damaged what is there.
func syncedAfter(segment []byte, offset int) bool {
	for at := offset + 1; at+headerSize < len(segment); at++ {
		if f, err := readFrame(segment[at:]); err == nil && at-f.group > offset {
			return true
		}
	}
	return false
}

// runOf returns the id of the run in the record that begins with raw and may be damaged; empty
// if there is none.
func runOf(raw []byte) string {
	const longest = 36
	raw, _, _ = bytes.Cut(raw, []byte{'\n'})
	_, rest, found := bytes.Cut(raw, []byte(`"run":"`))
	id, _, closed := bytes.Cut(rest[:min(len(rest), longest+1)], []byte{'"'})
	if !found || !closed {
		return ""
	}
	return string(id)
}
