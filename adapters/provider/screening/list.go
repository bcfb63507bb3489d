// A list of people and companies, as it was loaded.

package screening

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
)

// Entry is one person or company of a list.
type Entry struct {
	ID         string
	Name       string
	Aliases    []string
	Person     bool
	Company    bool
	BirthDates []string // YYYY, YYYY-MM or YYYY-MM-DD
	Countries  []string // lower case
	Topics     []string // such as sanction or role.pep
}

// List is one version of a list. It never changes.
type List struct {
	// Version is the SHA-256 of the file in hexadecimal, and Date the time of its last
	// change.
	Version string
	Date    time.Time
	// Entries is the number of people and companies, and Names that of their names.
	Entries, Names int

	comparer  *names.Comparer
	people    *index
	companies *index
	text      string          // the fields of the entries, one after the other
	writing   strings.Builder // text, while the list is read
	offsets   []uint64        // where each entry begins in text
	aliases   [2][]uint16     // which name of its entry each name of an index is
}

// Load reads a list from a file.
func Load(ctx context.Context, s Source, c *names.Comparer) (*List, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	l, err := Read(ctx, file, s.Format, c)
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
// more often a mistake than intended.
func Read(ctx context.Context, r io.Reader, format Format, c *names.Comparer) (*List, error) {
	l := &List{comparer: c}
	people, companies := newBuilder(names.Person, c), newBuilder(names.Company, c)
	sum := sha256.New()
	hashed := bufio.NewReaderSize(io.TeeReader(&interruptible{ctx, r}, sum), 1<<20)
	for e, err := range format.entries(hashed) {
		if err != nil {
			return nil, err
		}
		l.add(e, people, companies)
	}
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return nil, err
	}
	if l.Entries == 0 {
		return nil, fmt.Errorf("the list has no person and no company")
	}
	l.text = strings.Clone(l.writing.String())
	l.writing.Reset()
	l.people, l.companies = people.build(), companies.build()
	l.Names = l.people.names.size() + l.companies.names.size()
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

// maxAliases is the maximum number of names of an entry that are screened.
const maxAliases = 500

// add adds an entry with at least one name.
func (l *List) add(e Entry, people, companies *builder) {
	if !e.Person && !e.Company {
		return
	}
	all := e.names()
	number := uint32(len(l.offsets))
	added := false
	for i, name := range all {
		if e.Person && people.add(number, name) {
			l.aliases[0] = append(l.aliases[0], uint16(i))
			added = true
		}
		if e.Company && companies.add(number, name) {
			l.aliases[1] = append(l.aliases[1], uint16(i))
			added = true
		}
	}
	if !added {
		return
	}
	l.Entries++
	l.offsets = append(l.offsets, uint64(l.writing.Len()))
	for i, field := range [][]string{{e.ID}, all, e.BirthDates, e.Countries, e.Topics} {
		if i > 0 {
			l.writing.WriteByte('\x1e')
		}
		for k, value := range field {
			if k > 0 {
				l.writing.WriteByte('\x1f')
			}
			l.writing.WriteString(value)
		}
	}
}

// names returns the name and the aliases, without repetitions.
func (e *Entry) names() []string {
	var out []string
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		name = strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, strings.TrimSpace(name))
		if name != "" && len(out) < maxAliases && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// entry returns an entry, its name first among Aliases.
func (l *List) entry(i uint32) Entry {
	end := uint64(len(l.text))
	if int(i)+1 < len(l.offsets) {
		end = l.offsets[i+1]
	}
	fields := strings.Split(l.text[l.offsets[i]:end], "\x1e")
	several := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, "\x1f")
	}
	e := Entry{ID: fields[0], Aliases: several(fields[1]), BirthDates: several(fields[2]), Countries: several(fields[3]), Topics: several(fields[4])}
	e.Name = e.Aliases[0]
	return e
}

// Subject is the person or company that is screened.
type Subject struct {
	Kind      names.Kind
	Name      string
	BirthDate string   // YYYY, YYYY-MM or YYYY-MM-DD; any other text counts as none
	Countries []string // may be empty
}

// Hit is an entry of a list that is like a subject.
type Hit struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`            // of the entry
	Alias      string   `json:"alias,omitempty"` // the name that matched, if it is not Name
	Score      float64  `json:"score"`           // 0 to 1
	Reasons    []string `json:"reasons"`
	BirthDates []string `json:"birth_dates,omitempty"`
	Countries  []string `json:"countries,omitempty"`
	Topics     []string `json:"topics,omitempty"`
}

// maxHits is the maximum number of hits of a search.
const maxHits = 10

// Search returns the entries that are like a subject with a score of at least minimum,
// the best first, at most 10. It returns names.ErrNoName if the name of the
// subject has no letter and no digit.
func (l *List) Search(s Subject, minimum float64) ([]Hit, error) {
	query, err := l.comparer.Parse(s.Kind, s.Name)
	if err != nil {
		return nil, err
	}
	x, which := l.people, 0
	if s.Kind == names.Company {
		x, which = l.companies, 1
	}
	best := map[uint32]found{}
	for _, f := range x.search(query, float32(minimum)*lowest) {
		entry := x.entries[f.name]
		known, ok := best[entry]
		if !ok || cmp.Or(cmp.Compare(f.match.Score, known.match.Score), cmp.Compare(known.name, f.name)) > 0 {
			best[entry] = f
		}
	}
	hits := make([]Hit, 0, maxHits)
	for number, f := range best {
		e := l.entry(number)
		score, reasons := adjust(s, e, float64(f.match.Score))
		if score = round(score); score < minimum {
			continue
		}
		h := Hit{
			ID: e.ID, Name: e.Name, Score: score, Reasons: append(explain(f.match, "the listed name"), reasons...),
			BirthDates: e.BirthDates, Countries: e.Countries, Topics: e.Topics,
		}
		if alias := e.Aliases[l.aliases[which][f.name]]; alias != e.Name {
			h.Alias = alias
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
	return hits[:min(len(hits), maxHits)], nil
}
