package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/backup"
	"github.com/verifyd/verifyd/verification"
)

// file is a file of an archive.
type file struct {
	name    string
	content []byte
}

func files() []file {
	return []file{
		{"journal/0000000001.journal", []byte("a record")},
		{"documents/t/r/d/content", []byte("a picture")},
		{"documents/t/r/d/document.json", []byte("{}")},
		{"records/runs-000001.jsonl", bytes.Repeat([]byte("a long record\n"), 100_000)},
		{"search-key", []byte("secret")},
	}
}

// made returns a backup of files, and all that is in it.
func made(t *testing.T) (archive []byte, has []file) {
	t.Helper()
	var b bytes.Buffer
	w := backup.NewWriter(&b)
	if err := w.Folder("journal"); err != nil {
		t.Fatal(err)
	}
	for _, f := range files() {
		if err := w.File(t.Context(), f.name, int64(len(f.content)), time.Unix(1, 0), bytes.NewReader(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(backup.Manifest{At: time.Unix(2, 0), Runs: 7, Ledger: backup.Position{ID: "l", Last: 3, Owed: []verification.Erasure{{Number: 3}}}}); err != nil {
		t.Fatal(err)
	}
	err := backup.Walk(t.Context(), bytes.NewReader(b.Bytes()), func(h *tar.Header, content io.Reader) error {
		raw, err := io.ReadAll(content)
		if h.Typeflag == tar.TypeReg {
			has = append(has, file{h.Name, raw})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), has
}

// packed returns an archive of files as anyone could make it.
func packed(t *testing.T, all []file) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	for _, f := range all {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func check(t *testing.T, archive []byte) (backup.Manifest, string) {
	t.Helper()
	m, problems := backup.Check(t.Context(), bytes.NewReader(archive), func(string, io.Reader) error { return nil })
	return m, strings.Join(problems, "\n")
}

func TestABackupSaysWhatItHas(t *testing.T) {
	archive, _ := made(t)
	m, problems := check(t, archive)
	if problems != "" || m.Runs != 7 || m.Documents != 1 || m.Ledger.Last != 3 || len(m.Ledger.Owed) != 1 || !m.At.Equal(time.Unix(2, 0)) || len(m.Parts) != 4 {
		t.Errorf("the backup has %+v and %q", m, problems)
	}
}

// TestDamageOfAnyPartIsFound flips one bit in each part, or leaves it out.
func TestDamageOfAnyPartIsFound(t *testing.T) {
	archive, has := made(t)
	part := func(name string) string {
		first, _, _ := strings.Cut(name, "/")
		return first
	}
	for i, f := range has {
		flipped := append([]file{}, has...)
		flipped[i].content = bytes.Clone(f.content)
		flipped[i].content[len(f.content)/2] ^= 1
		if _, got := check(t, packed(t, flipped)); f.name != "manifest.json" && !strings.Contains(got, part(f.name)) { // gzip has a checksum of the manifest
			t.Errorf("a flipped bit in %s: %q", f.name, got)
		}
		without := append(append([]file{}, has[:i]...), has[i+1:]...)
		if _, got := check(t, packed(t, without)); !strings.Contains(got, part(f.name)) {
			t.Errorf("without %s: %q", f.name, got)
		}
	}
	added := append([]file{{"more", []byte("x")}}, has...)
	if _, got := check(t, packed(t, added)); got != "more is not in the manifest" {
		t.Errorf("with a file that was added: %q", got)
	}
	if _, got := check(t, packed(t, append([]file{{"../escaped", nil}}, has...))); !strings.Contains(got, "no backup has a file ../escaped") {
		t.Errorf("with a file outside of the folder: %q", got)
	}
	for at := 10; at < len(archive); at += max(1, len(archive)/200) { // after the header of gzip
		damaged := bytes.Clone(archive)
		damaged[at] ^= 4
		if _, got := check(t, damaged); got == "" {
			t.Errorf("a flipped bit in the byte %d of %d is not found", at, len(archive))
		}
	}
	for _, size := range []int{0, 5, len(archive) / 2, len(archive) - 1} {
		if _, got := check(t, archive[:size]); got == "" {
			t.Errorf("the first %d of %d bytes count as a backup", size, len(archive))
		}
	}
}

func TestABackupOfALaterBuildIsRefused(t *testing.T) {
	_, has := made(t)
	last := &has[len(has)-1]
	last.content = bytes.Replace(last.content, []byte(`"format": 1`), []byte(`"format": 2`), 1)
	if _, got := check(t, packed(t, has)); !strings.HasPrefix(got, "the backup has the format 2, and this build reads up to 1: use verifyctl ") {
		t.Errorf("Check = %q", got)
	}
}

func TestAWriterThatIsCancelledStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backup.NewWriter(io.Discard).File(ctx, "a", 1, time.Time{}, strings.NewReader("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("File = %v", err)
	}
}
