// A list of people and companies, as it was loaded.

package watchlist

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/internal/names"
)

// List is one version of a list. It never changes.
type List struct {
	// Version is the SHA-256 of the file in hexadecimal, and Date the time of its last
	// change.
	Version string
	Date    time.Time
	// Entries is the number of people and companies, and Names the number of their names
	// that are compared, with the parts of names.
	Entries, Names int
	// Uncompared is the number of names that are compared in part or not at all: those
	// after the 500th of an entry, weak aliases of one word, those without a letter or digit
	// that can be read, and those with more words than are compared. All but the ones without a letter and a
	// digit are found as they are written.
	Uncompared int
	// Lacks is the number of entries that the version in use has fewer than the last one that was accepted, if
	// nobody has accepted it; 0 otherwise.
	Lacks int
	// Bytes is the memory that the list takes, about: its texts and its index, without what
	// searches and loads need for a while.
	Bytes int64
	// Format says what the file was read as, such as "uk (ConList.csv), gzip".
	Format string
	// Unread are the fields with values that could not be read, in the order of their names.
	Unread []Unread
	// Columns are the columns of the file with a value, or its elements and properties: first those that are read.
	Columns []Column

	comparer  *names.Comparer
	exact     *exact
	people    *index
	companies *index
	pages     []page
	offsets   []uint32 // where each entry begins in its page
}

// page has the fields of some neighbouring entries, one after the other.
type page struct {
	first uint32 // the first of the entries
	text  string
}

// pageSize is the size from which on further entries are on another page. One text that grows with
// the list would be copied again and again.
const pageSize = 1 << 20

// Load reads a list from a file.
func Load(ctx context.Context, s Source) (*List, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	l, err := read(ctx, file, s.Format, s.MaxBytes, s.Today)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	l.Date = info.ModTime()
	if l.Date.IsZero() {
		l.Date = s.Date
	}
	l.Date = l.Date.UTC().Truncate(time.Second)
	return l, nil
}

// Read reads a list. A list without an entry is an error, because an empty file is
// more often a mistake than intended. No birth date is too late or too early for it; see Source.Today.
func Read(ctx context.Context, r io.Reader, format Format) (*List, error) {
	return read(ctx, r, format, 0, time.Time{})
}

// tooLargeError is the error of a list of which some entries take more memory than the list may.
type tooLargeError struct{ entries int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("its first %d entries take more memory than the list may", e.entries)
}

func read(ctx context.Context, r io.Reader, format Format, most int64, today time.Time) (*List, error) {
	b, sum := newListBuilder(), sha256.New()
	hashed := bufio.NewReaderSize(io.TeeReader(&interruptible{ctx, r}, sum), 1<<20)
	file, err := format.open(hashed)
	if err != nil {
		return nil, err
	}
	file.today = today
	for e, err := range file.entries() {
		if err != nil {
			return nil, err
		}
		if b.add(e); most > 0 && b.bytes() > most {
			return nil, &tooLargeError{b.list.Entries}
		}
		runtime.Gosched() // searches do not wait for a load
	}
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return nil, err
	}
	unread, err := file.result()
	if err != nil {
		return nil, err
	}
	if b.list.Entries == 0 {
		return nil, fmt.Errorf("the list has no person and no company")
	}
	l := b.build()
	l.Format, l.Unread = file.said, unread
	l.Columns = file.seen()
	l.Version = digest(sum)
	return l, nil
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// interruptible is a reader that fails once its context is done.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// fields returns the fields of an entry as they are stored.
func (l *List) fields(i uint32) []string {
	at, begins := slices.BinarySearchFunc(l.pages, i, func(p page, entry uint32) int { return cmp.Compare(p.first, entry) })
	if !begins {
		at--
	}
	text := l.pages[at].text[l.offsets[i]:]
	if next := i + 1; int(next) < len(l.offsets) && (at+1 == len(l.pages) || next < l.pages[at+1].first) {
		text = text[:l.offsets[next]-l.offsets[i]]
	}
	return strings.Split(text, "\x1e")
}

// formerFields is the number of the field with earlier ids, for entries that have some.
const formerFields = partFields + 2

// partFields is the number of the first field with parts of names. Most entries have none.
const partFields = 6

// nth returns a value of a stored field.
func nth(field string, n int) string {
	for range n {
		_, field, _ = strings.Cut(field, "\x1f")
	}
	value, _, _ := strings.Cut(field, "\x1f")
	return value
}

// nthName returns the name with a number of stored fields, see Entry.name.
func nthName(fields []string, n int) string {
	wholes := strings.Count(fields[1], "\x1f") + 1
	if n < wholes {
		return nth(fields[1], n)
	}
	n -= wholes
	if parts := fields[partFields]; parts != "" {
		if count := strings.Count(parts, "\x1f") + 1; n < count {
			return nth(parts, n)
		} else {
			n -= count
		}
	}
	return nth(fields[partFields+1], n)
}

// entry returns an entry, its name first among Aliases.
func (l *List) entry(i uint32) Entry {
	fields := l.fields(i)
	several := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, "\x1f")
	}
	e := Entry{ID: fields[0], Aliases: several(fields[1]), BirthDates: several(fields[2]), Countries: several(fields[3]), Topics: several(fields[4])}
	if len(fields) > partFields {
		exact := several(fields[partFields+1])
		e.parts, e.exact = append(several(fields[partFields]), exact...), len(exact)
	}
	if len(fields) > formerFields {
		e.Formerly = several(fields[formerFields])
	}
	e.Formerly = e.earlier(e.Formerly)
	for _, id := range several(fields[5]) {
		kind, value, _ := strings.Cut(id, ":")
		e.Identifiers = append(e.Identifiers, Identifier{IdentifierType(kind), value})
	}
	if len(e.Aliases) > 0 {
		e.Name = e.Aliases[0]
	}
	return e
}

// listBuilder builds a list from its entries.
type listBuilder struct {
	list              *List
	people, companies *builder
	text              []byte // of the last page
	full              int64  // bytes of the pages before
}

func newListBuilder() *listBuilder {
	c := names.New()
	return &listBuilder{list: &List{comparer: c, exact: newExact()}, people: newBuilder(names.Person, c), companies: newBuilder(names.Company, c)}
}

// add adds an entry with a name or an identifier that can be found.
func (b *listBuilder) add(e Entry) {
	if !e.Person && !e.Company {
		return
	}
	l := b.list
	named := e.names(l.comparer)
	number := uint32(len(l.offsets))
	added, unnamed := l.exact.add(number, named.all(), e.Identifiers)
	l.Uncompared += unnamed
	if !added {
		return
	}
	parts := min(len(named.parts), maxAliases-named.compared)
	l.Uncompared += max(0, len(named.wholes)-unnamed-named.compared) + len(named.parts) - parts + len(named.exact) + named.left
	for i, name := range slices.Concat(named.wholes[:named.compared], named.parts[:parts]) {
		if fold.Name(name) == "" {
			continue // counted already
		}
		if i >= named.compared {
			i += len(named.wholes) - named.compared
		}
		whole := true
		if e.Person {
			whole = b.people.add(number, uint16(i), name)
		}
		if e.Company {
			whole = b.companies.add(number, uint16(i), name) && whole
		}
		if !whole {
			l.Uncompared++
		}
	}
	l.Entries++
	if len(b.text) == 0 {
		l.pages = append(l.pages, page{first: number})
	}
	l.offsets = append(l.offsets, uint32(len(b.text)))
	var identifiers []string
	for _, id := range e.Identifiers {
		identifiers = append(identifiers, string(id.Type)+":"+withoutControls(id.Value))
	}
	fields := [][]string{{e.ID}, named.wholes, e.BirthDates, e.Countries, e.Topics, identifiers}
	if len(named.parts)+len(named.exact)+len(e.Formerly) > 0 {
		fields = append(fields, named.parts, named.exact)
	}
	if len(e.Formerly) > 0 {
		fields = append(fields, e.Formerly)
	}
	for i, field := range fields {
		if i > 0 {
			b.text = append(b.text, '\x1e')
		}
		for k, value := range field {
			if k > 0 {
				b.text = append(b.text, '\x1f')
			}
			b.text = append(b.text, value...)
		}
	}
	if len(b.text) >= pageSize {
		b.flush()
	}
}

// flush ends the last page.
func (b *listBuilder) flush() {
	if last := len(b.list.pages) - 1; len(b.text) > 0 {
		b.list.pages[last].text = string(b.text)
		b.full += int64(len(b.text))
	}
	b.text = b.text[:0]
}

// bytes returns the memory that a list of the entries so far takes.
func (b *listBuilder) bytes() int64 {
	return b.full + int64(len(b.text)) + 24*int64(len(b.list.pages)) + 4*int64(len(b.list.offsets)) +
		b.list.exact.bytes() + b.people.bytes() + b.companies.bytes()
}

// largeList is the number of bytes of the texts of a list from which on its load cleans up.
const largeList = 16 << 20

// build returns the list of the entries so far.
func (b *listBuilder) build() *List {
	l := b.list
	b.flush()
	b.people.forget()
	b.companies.forget()
	if b.full > largeList {
		runtime.GC() // the memory that add needed is free for the index, so the peak is lower
	}
	l.pages, l.offsets = slices.Clone(l.pages), slices.Clone(l.offsets)
	l.exact.build()
	l.people, l.companies = b.people.build(), b.companies.build()
	l.Bytes = b.bytes()
	l.Names = l.people.names.size() + l.companies.names.size()
	return l
}

// ListOf returns a list of entries that are in no file.
func ListOf(entries ...Entry) *List {
	b := newListBuilder()
	for _, e := range entries {
		b.add(e)
	}
	return b.build()
}
