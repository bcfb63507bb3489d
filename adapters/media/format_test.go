package media_test

import (
	"bytes"
	"strings"
	"testing"
)

func TestARefusalNamesTheAcceptedFormats(t *testing.T) {
	for _, c := range []struct {
		accept string
		want   string
	}{
		{"", "must be a JPEG, PNG, WebP or PDF"},
		{"application/pdf", "must be a PDF"},
		{"image/png image/jpeg", "must be a JPEG or PNG"},
		{"image/jpeg image/png application/pdf", "must be a JPEG, PNG or PDF"},
		{"image/*", "must be a JPEG, PNG or WebP"},
		{"*/*", "must be a JPEG, PNG, WebP or PDF"},
		{"IMAGE/JPEG Application/*", "must be a JPEG or PDF"},
		{"image/jpg", "must be a JPEG"},
		{"image/heic", "files of the required type are not supported"},
		{"image image/ */jpeg *", "files of the required type are not supported"},
	} {
		t.Run(c.accept, func(t *testing.T) { refused(t, c.want, []byte("<html>"), strings.Fields(c.accept)...) })
	}
}

func TestOnlyWhatIsListedIsAccepted(t *testing.T) {
	contents := map[string][]byte{"JPEG": someJPEG(), "PNG": somePNG(), "WebP": webp(lossy()), "PDF": somePDF(0)}
	for _, c := range []struct {
		accept   string
		accepted string
	}{
		{"", "JPEG PNG WebP PDF"},
		{"*/*", "JPEG PNG WebP PDF"},
		{"image/*", "JPEG PNG WebP"},
		{"application/*", "PDF"},
		{"image/jpg", "JPEG"},
		{"Image/WebP text/html", "WebP"},
		{"image/heic", ""},
	} {
		for name, content := range contents {
			t.Run(c.accept+" "+name, func(t *testing.T) {
				accept := strings.Fields(c.accept)
				if strings.Contains(c.accepted, name) {
					accepted(t, content, accept...)
					return
				}
				if _, _, err := sanitize(t.Context(), bytes.NewReader(content), accept...); err == nil {
					t.Error("it was accepted, want it refused")
				}
			})
		}
	}
}

func TestOtherContentIsRefused(t *testing.T) {
	const unknown, pdf, heic = "must be a JPEG, PNG, WebP or PDF", "the PDF cannot be read", "must not be a HEIC image"
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"nothing", nil, "the file is empty"},
		{"one byte", []byte{0xff}, unknown},
		{"a page", []byte("<!DOCTYPE html><script>alert(1)</script>"), unknown},
		{"a drawing", []byte("<?xml version='1.0'?><svg onload='alert(1)'/>"), unknown},
		{"a program", []byte("MZ\x90\x00"), unknown},
		{"an archive", []byte("PK\x03\x04"), unknown},
		{"a GIF", []byte("GIF89a"), unknown},
		{"a HEIC image", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), heic},
		{"a HEIF image", []byte("\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00"), heic},
		{"a film", []byte("\x00\x00\x00\x18ftypisom\x00\x00\x00\x00"), unknown},
		{"a sound", []byte("RIFF\x24\x00\x00\x00WAVEfmt "), unknown},
		{"marks of a PDF after a line", join([]byte("\n"), somePDF(0)), pdf},
		{"marks of a PDF after a page", join([]byte("<html>"), somePDF(0)), pdf},
		{"a PDF without version", []byte("%PDF-\n%%EOF"), pdf},
		{"a PDF of version 9", []byte("%PDF-9.0\n%%EOF"), pdf},
		{"a PDF of version 1", []byte("%PDF-1\n0\n%%EOF"), pdf},
		{"a PDF of version 1.x", []byte("%PDF-1.x\n%%EOF"), pdf},
		{"a PDF of version 1.-", []byte("%PDF-1.-\n%%EOF"), pdf},
		{"half a PDF", somePDF(4000)[:3000], pdf},
		{"a PDF with an archive after it", join(somePDF(0), []byte("PK\x03\x04"), make([]byte, 2000)), pdf},
		{"a JPEG too wide", sizedJPEG(10_001, 10), "the image is too large"},
		{"a JPEG too high", sizedJPEG(10, 10_001), "the image is too large"},
		{"a JPEG of too many pixels", sizedJPEG(7072, 7072), "the image is too large"},
		{"a PNG of too many pixels", sizedPNG(10_000, 5_001), "the image is too large"},
		{"a WebP canvas of too many pixels", webp(canvas(0, 10_000, 5_001), lossy()), "the image is too large"},
		{"a WebP picture beyond its canvas", webp(canvas(0, 1, 1), bytes.Replace(lossy(), []byte("\x2a\x01\x00\x01\x00"), []byte("\x2a\xff\x3f\xff\x3f"), 1)), "the image is too large"},
		{"a lossless WebP of too many pixels", webp(bytes.Replace(lossless(), []byte("\x2f\x00\x00\x00\x10"), []byte("\x2f\xff\xff\xff\x1f"), 1)), "the image is too large"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.want, c.content) })
	}
}

func TestTheLargestImagesAreAccepted(t *testing.T) {
	for _, content := range [][]byte{
		sizedJPEG(10_000, 5_000), sizedJPEG(5_000, 10_000), sizedPNG(10_000, 5_000), sizedPNG(1, 10_000),
		webp(canvas(0, 10_000, 5_000), lossy()),
	} {
		accepted(t, content)
	}
}
