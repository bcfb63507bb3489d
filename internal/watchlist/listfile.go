// A list file as it is read: compression, encoding, limits and format.

package watchlist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// listFile is a list file whose format is known.
type listFile struct {
	*filler
	Format
	layout layout
	said   string // what was recognised, for people
	text   *bufio.Reader
	bound  *bounded
}

// The errors of a file that is refused.
var (
	errTooLong = errors.New("an entry is too long")
	errNUL     = errors.New("the text has NUL bytes: if it is UTF-16, write encoding: utf-16le or utf-16be")
	errUTF8    = errors.New("the text is not UTF-8: if it has another encoding, write it, such as encoding: windows-1252")
	errBomb    = errors.New("the file unpacks to more than 200 times its size")
	errCutOff  = errors.New("the gzip file is cut off: copy it again")
)

// begins is how many bytes of a file decide on its format.
const begins = 64 << 10

// open recognises the format of a list file.
func (f Format) open(r io.Reader) (*listFile, error) {
	file := &listFile{filler: newFiller(), Format: f}
	var said []string
	raw := bufio.NewReader(r)
	var plain io.Reader = raw
	switch mark, _ := raw.Peek(4); {
	case bytes.HasPrefix(mark, []byte("\x1f\x8b")):
		packed := &counter{from: raw}
		unpacked, err := gzip.NewReader(bufio.NewReader(packed))
		if err != nil {
			return nil, fmt.Errorf("the gzip file cannot be read: %w", readError(err))
		}
		plain, said = &unpacking{gzip: unpacked, packed: packed}, append(said, "gzip")
	case bytes.HasPrefix(mark, []byte("PK\x03\x04")):
		return nil, errors.New("the file is a zip archive or a spreadsheet: unpack it, or save it as CSV")
	case bytes.HasPrefix(mark, []byte("%PDF")):
		return nil, errors.New("the file is a PDF: use the XML or CSV file of the list")
	}
	decoded, name, err := file.decode(bufio.NewReader(plain))
	if err != nil {
		return nil, err
	}
	if name != "" {
		said = append(said, name)
	}
	file.bound = &bounded{from: decoded, left: maxLine}
	file.text = bufio.NewReaderSize(transform.NewReader(file.bound, encoding.UTF8Validator), begins)
	begin, err := file.text.Peek(begins)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: %w", bytes.Count(begin, []byte("\n"))+1, readError(err))
	}
	if file.layout, err = f.detect(begin); err != nil {
		return nil, err
	}
	if f.Type != "" && f.Type != file.layout.format {
		return nil, fmt.Errorf("the file seems to be %s, format %s, not %s: correct format, or leave it out", file.layout.name, file.layout.format, f.Type)
	}
	if file.layout.format == CSV && file.Delimiter == "" {
		file.Delimiter = f.delimiter(string(begin))
	}
	if file.layout.format == CSV && file.Delimiter != "comma" {
		said = append(said, "delimiter "+file.Delimiter)
	}
	file.said = strings.Join(append([]string{string(file.layout.format)}, said...), ", ")
	if file.layout.name != string(file.layout.format) {
		file.said = strings.Join(append([]string{fmt.Sprintf("%s (%s)", file.layout.format, file.layout.name)}, said...), ", ")
	}
	return file, nil
}

// decode returns the text of a file in UTF-8, and the name of its encoding if it is another
// one.
func (f *listFile) decode(r *bufio.Reader) (io.Reader, string, error) {
	mark, err := r.Peek(3)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, "", readError(err)
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, _ = r.Discard(3)
		return r, "", nil
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r), "utf-16", nil
	}
	label := f.Encoding
	if label == "" {
		begin, _ := r.Peek(200)
		if found := xmlEncoding().FindSubmatch(begin); found != nil {
			label = string(found[1])
		}
	}
	if label == "" || f.Encoding == "" && strings.HasPrefix(strings.ToLower(label), "utf-16") { // it would have a mark
		return r, "", nil
	}
	declared, err := htmlindex.Get(label)
	name := ""
	if err == nil {
		name, err = htmlindex.Name(declared)
	}
	if err != nil {
		return nil, "", fmt.Errorf("encoding: %.50q is not known: write a name such as utf-8, windows-1252, iso-8859-2 or utf-16le", label)
	}
	if name == "utf-8" {
		return r, "", nil
	}
	return declared.NewDecoder().Reader(r), name, nil
}

// xmlEncoding matches the declaration of an encoding in XML.
func xmlEncoding() *regexp.Regexp {
	return regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"'>]+)["']`)
}

// entries returns the entries of the file. After an error there is no further entry.
func (f *listFile) entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		n := 0
		for e, err := range f.layout.read(f) {
			if err == nil && !f.finish(&e) {
				continue
			}
			if n++; err == nil && n > maxEntries {
				err = fmt.Errorf("the list has more than %d entries", maxEntries)
			}
			if err == nil {
				err = e.check()
			}
			e.identify()
			if !yield(e, readError(err)) || err != nil {
				return
			}
		}
	}
}

// readError returns an error that says what is wrong with a file.
func readError(err error) error {
	switch {
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return fmt.Errorf("%s%w", before(err, encoding.ErrInvalidUTF8), errUTF8)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum):
		return errCutOff
	}
	return err
}

// before returns the text of an error before the text of the error that it wraps.
func before(err, wrapped error) string {
	text, _ := strings.CutSuffix(err.Error(), wrapped.Error())
	return text
}

// bounded is a reader that fails at a NUL byte, and after too many bytes of one entry.
type bounded struct {
	from io.Reader
	left int // bytes until the next entry must have begun
}

// next begins the next entry.
func (b *bounded) next(limit int) { b.left = limit }

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.from.Read(p)
	b.left -= n
	if i := bytes.IndexByte(p[:n], 0); i >= 0 {
		return i, errNUL
	}
	return n, err
}

// counter counts the bytes that are read.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// unpacking is a reader of a gzip file that fails if the file unpacks to far more than a
// list can.
type unpacking struct {
	gzip   io.Reader
	packed *counter
	n      int64
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.gzip.Read(p)
	if u.n += int64(n); u.n > 64<<20 && u.n/200 > u.packed.n {
		return 0, errBomb
	}
	return n, err
}
