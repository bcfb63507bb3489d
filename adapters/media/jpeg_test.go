package media_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"reflect"
	"strings"
	"testing"
)

// turnedExif is an Exif as it is kept: the orientation alone.
func turnedExif(orientation byte) string {
	return "Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00\x00"
}

func TestJPEGLosesOnlyItsMetadata(t *testing.T) {
	clean := someJPEG()
	for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			sent := join(
				clean[:2],
				segment(0xe1, "Exif\x00\x00"+string(tiff(order, 6))),
				segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00<x>"+gpsWords+"</x>"),
				segment(0xed, "Photoshop 3.0\x008BIM"+gpsWords),
				segment(0xe2, "MPF\x00"+gpsWords),
				segment(0xeb, "JP\x00\x00 jumbf "+gpsWords),
				segment(0xfe, gpsWords),
				clean[2:],
				someJPEG(),
				[]byte("\x00\x00\x00\x18ftypmp42 a film, taken at "+gpsWords),
			)
			kept := accepted(t, sent)
			if bytes.Contains(kept, []byte(gpsWords)) || bytes.Contains(kept, []byte(gpsFractions)) {
				t.Error("the result contains the location")
			}
			if want := join(clean[:2], segment(0xe1, turnedExif(6)), clean[2:]); !bytes.Equal(kept, want) {
				t.Errorf("kept %q, want the orientation and the picture as it was: %q", kept, want)
			}
			if got, want := decoded(t, kept), decoded(t, sent); !reflect.DeepEqual(got, want) {
				t.Error("what is kept decodes to other pixels")
			}
		})
	}
}

func decoded(t *testing.T, b []byte) image.Image {
	t.Helper()
	m, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOrientationIsReadFromAnyExif(t *testing.T) {
	clean := someJPEG()
	big := string(tiff(binary.BigEndian, 8))
	long := strings.Replace(big, "\x01\x12\x00\x03\x00\x00\x00\x01\x00\x08\x00\x00", "\x01\x12\x00\x04\x00\x00\x00\x01\x00\x00\x00\x08", 1)
	for _, c := range []struct {
		name string
		tiff string
		want byte // 0: no Exif is kept
	}{
		{"a short", big, 8},
		{"a long", long, 8},
		{"what was kept before", turnedExif(3)[6:], 3},
		{"out of range", string(tiff(binary.BigEndian, 9)), 0},
		{"zero", string(tiff(binary.BigEndian, 0)), 0},
		{"nothing", "", 0},
		{"no TIFF", strings.Repeat("x", 100), 0},
		{"a directory after the end", "II*\x00\xff\xff\xff\xff" + strings.Repeat("\x00", 30), 0},
		{"a directory at the end", "MM\x00*\x00\x00\x00\x1e" + strings.Repeat("\xff", 24), 0},
		{"entries that are cut off", "MM\x00*\x00\x00\x00\x08\xff\xff" + strings.Repeat("\x01\x11\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00", 3), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := accepted(t, join(clean[:2], segment(0xe1, "Exif\x00\x00"+c.tiff), clean[2:]))
			want := clean
			if c.want > 0 {
				want = join(clean[:2], segment(0xe1, turnedExif(c.want)), clean[2:])
			}
			if !bytes.Equal(kept, want) {
				t.Errorf("kept %.60q, want %.60q", kept, want)
			}
		})
	}
}

func TestJPEGKeepsItsColours(t *testing.T) {
	clean := someJPEG()
	sent := join(
		clean[:2], segment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"),
		segment(0xe2, "ICC_PROFILE\x00\x01\x02"+strings.Repeat("p", 65000)), segment(0xe2, "ICC_PROFILE\x00\x02\x02rest"),
		segment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x01"), clean[2:],
	)
	if kept := accepted(t, sent); !bytes.Equal(kept, sent) {
		t.Errorf("kept %d bytes of %d, want all", len(kept), len(sent))
	}
}

func TestAThumbnailIsLeftOut(t *testing.T) {
	clean, thumbnail := someJPEG(), "the room before it was cut off"
	jfif, adobe := "JFIF\x00\x01\x02\x01\x00\x48\x00\x48", "Adobe\x00\x64\x00\x00\x00\x00\x01"
	sent := join(
		clean[:2], segment(0xe0, jfif+"\x0a\x01"+thumbnail), segment(0xee, adobe+thumbnail),
		segment(0xe0, "JFIF\x00\x01\x02"), segment(0xee, "Adobe"), clean[2:], // too short to say anything
	)
	want := join(clean[:2], segment(0xe0, jfif+"\x00\x00"), segment(0xee, adobe), clean[2:])
	if kept := accepted(t, sent); !bytes.Equal(kept, want) {
		t.Errorf("kept %.120q, want %.120q", kept, want)
	}
}

// coded returns the coded part of a picture in two scans with everything that it may
// contain: stuffed bytes, restarts, fillers, tables, and bytes that are dropped.
func coded(between ...[]byte) []byte {
	table, scan := segment(0xc4, "\x00"+strings.Repeat("\x01", 17)), segment(0xda, "\x01\x01\x00\x00\x3f\x00")
	return join(
		scan, []byte("abc\xff\x00def\xff\xd0ghi\xff\xff\xd7\xff\xff\x00"), table, join(between...),
		scan, []byte(strings.Repeat("\x00long", 20_000)+"\xff\x00"), segment(0xdc, "\x00\x30"),
	)
}

func TestJPEGInSeveralScansIsKeptByteForByte(t *testing.T) {
	clean := someJPEG()
	head := clean[:bytes.Index(clean, []byte{0xff, 0xda})]
	sent := join(head, coded(), []byte{0xff, 0xd9})
	if kept := accepted(t, sent); !bytes.Equal(kept, sent) {
		t.Errorf("kept %d bytes, want all %d as they were", len(kept), len(sent))
	}
	noisy := join(
		head, []byte("between two segments"), segment(0xfe, gpsWords),
		coded(segment(0xe1, gpsWords), []byte("\xff\x00\xff\xd3\xff\x01nothing")), []byte{0xff, 0xff, 0xff, 0xd9},
	)
	if kept := accepted(t, noisy); !bytes.Equal(kept, sent) {
		t.Errorf("kept %d bytes, want the %d that make up the picture", len(kept), len(sent))
	}
}

func TestAJPEGOfAnySamplingIsTaken(t *testing.T) {
	for _, samplings := range [][]byte{
		{0x11},
		{0x22},
		{0x33},
		{0x44}, // grey
		{0x11, 0x11, 0x11},
		{0x22, 0x11, 0x11},
		{0x21, 0x11, 0x11},
		{0x12, 0x11, 0x11},
		{0x41, 0x11, 0x11},
		{0x42, 0x11, 0x11}, // the usual ones
		{0x21, 0x11, 0x21},
		{0x21, 0x21, 0x11},
		{0x11, 0x11, 0x21},
		{0x22, 0x12, 0x21},
		{0x14, 0x11, 0x11},
		{0x31, 0x11, 0x11},
		{0x22, 0x22, 0x22},
		{0x12, 0x12, 0x11},
		{0x11, 0x11, 0x11, 0x11},
		{0x22, 0x11, 0x11, 0x22},
		{0x22, 0x11, 0x11, 0x11},
		{0x21, 0x11, 0x11, 0x21}, // CMYK
	} {
		content := greyJPEG(50, 30, samplings...)
		if kept := accepted(t, content); !bytes.Equal(kept, content) {
			t.Errorf("% x: kept %d bytes, want all %d", samplings, len(kept), len(content))
		}
		turned := join(content[:2], segment(0xe1, "Exif\x00\x00"+string(tiff(binary.BigEndian, 6))), content[2:])
		if kept, want := accepted(t, turned), join(content[:2], segment(0xe1, turnedExif(6)), content[2:]); !bytes.Equal(kept, want) {
			t.Errorf("% x: kept %d bytes, want the orientation and the picture", samplings, len(kept))
		}
		refused(t, "the image is too large", greyJPEG(10_001, 8, samplings...))
	}
}

func TestAJPEGOfNoSamplingIsRefused(t *testing.T) {
	for _, samplings := range [][]byte{
		{0x01},
		{0x10},
		{0x51},
		{0x15},
		{0xff},
		{0x11, 0x11},
		{0x31, 0x21, 0x11},
		{0x11, 0x11, 0x11, 0x11, 0x11},
		{0x21, 0x31, 0x11},
		{0x43, 0x12, 0x11},
		{0x11, 0x01, 0x11},
	} {
		content := greyJPEG(8, 8, 0x11, 0x11, 0x11)
		if len(samplings) != 3 {
			content = greyJPEG(8, 8, bytes.Repeat([]byte{0x11}, len(samplings))...)
		}
		frame := content[bytes.Index(content, []byte{0xff, 0xc0})+10:]
		for i, s := range samplings {
			frame[3*i+1] = s
		}
		refused(t, "the image cannot be read", content)
	}
	same := greyJPEG(8, 8, 0x11, 0x11, 0x11)
	same[bytes.Index(same, []byte{0xff, 0xc0})+13] = 1
	refused(t, "the image cannot be read", same)
}

func TestBrokenJPEGIsRefused(t *testing.T) {
	clean := someJPEG()
	scan := bytes.Index(clean, []byte{0xff, 0xda})
	frame := clean[bytes.Index(clean, []byte{0xff, 0xc0}):scan]
	end := []byte{0xff, 0xd9}
	for n := 3; n < len(clean); n += 7 {
		refused(t, "the image cannot be read", clean[:n])
	}
	for name, content := range map[string][]byte{
		"no picture":                 join(clean[:scan], end),
		"a scan before the size":     join(clean[:2], clean[scan:]),
		"two sizes":                  join(clean[:scan], frame, clean[scan:]),
		"arithmetic coding":          bytes.Replace(clean, []byte{0xff, 0xc0}, []byte{0xff, 0xc9}, 1),
		"twelve bits a colour":       bytes.Replace(clean, []byte("\xff\xc0\x00\x11\x08"), []byte("\xff\xc0\x00\x11\x0c"), 1),
		"a segment without length":   join(clean[:2], []byte{0xff, 0xe1, 0, 1}, clean[2:]),
		"another file in the middle": join(clean[:scan], clean),
		"too many scans":             join(clean[:scan], bytes.Repeat(clean[scan:len(clean)-2], 101), end),
		"no rows":                    sizedJPEG(64, 0),
		"zeros after the head":       join(clean[:4], make([]byte, 1000)),
	} {
		t.Run(name, func(t *testing.T) { refused(t, "the image cannot be read", content) })
	}
}
