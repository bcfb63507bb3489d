// Exif: its orientation is read, and written as the only entry.

package media

import "encoding/binary"

const (
	exifPrefix     = "Exif\x00\x00" // precedes the TIFF in a JPEG
	orientationTag = 0x0112
	// minimalTIFF is the length of a TIFF with one entry, in bytes.
	minimalTIFF = 8 + 2 + 12 + 4
)

// orientation returns the orientation of an image, 1 to 8, or 0 if the TIFF has
// none.
func orientation(tiff []byte) byte {
	// From a shorter TIFF the output would be longer than the input.
	if len(tiff) < minimalTIFF {
		return 0
	}
	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == orientationTag {
			return orientationValue(order, entries)
		}
		entries = entries[12:]
	}
	return 0
}

// orientationValue returns the value of an orientation entry, which is a SHORT or,
// from some cameras, a LONG.
func orientationValue(order binary.ByteOrder, entry []byte) byte {
	var v uint32
	switch order.Uint16(entry[2:]) {
	case 3:
		v = uint32(order.Uint16(entry[8:]))
	case 4:
		v = order.Uint32(entry[8:])
	}
	if v > 8 {
		return 0
	}
	return byte(v)
}

// orientationTIFF returns a TIFF with an orientation as its only entry.
func orientationTIFF(orientation byte) []byte {
	return []byte{
		'I', 'I', '*', 0, 8, 0, 0, 0, // the directory starts at 8
		1, 0, // one entry
		orientationTag & 0xff, orientationTag >> 8, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0,
		0, 0, 0, 0, // no other directory
	}
}
