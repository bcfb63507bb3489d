// The lists of a host, and picking up changed files.

package watchlist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Source is where a list comes from.
type Source struct {
	Name   string
	Path   string
	Files  fs.FS     // that has Path; nil for the files of the host
	Date   time.Time // of the list, if Files have no times
	Format Format
	// MaxAge is the maximum age of the file: the result of a check against an older one
	// has source_ok false. 0 means no limit.
	MaxAge time.Duration
	// MaxBytes is the most memory that the list may take; 0 means no limit. A list that takes more is
	// not read to its end.
	MaxBytes int64
	// Today is the day by which birth dates are judged: entries have none that is later, or so early that nobody
	// lives who was born then. Open sets it. The zero time judges none.
	Today time.Time
}

func (s Source) open() (fs.File, error) {
	if s.Files != nil {
		return s.Files.Open(s.Path)
	}
	return os.Open(s.Path)
}

func (s Source) state() (fileState, error) {
	file, err := s.open()
	if err != nil {
		return fileState{}, err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return fileState{}, err
	}
	return fileState{info.Size(), info.ModTime()}, nil
}

// Lists holds the current version of each list. It is safe for concurrent use.
type Lists struct {
	lists    map[string]*kept
	log      *slog.Logger
	loaded   func(list string, l *List, err error)
	now      func() time.Time
	accepted Acceptances
	read     func(context.Context, Source) (*List, error) // Load
	maxBytes int64
	setting  string     // of maxBytes
	reload   sync.Mutex // one reload at a time
}

// kept is a list and the state of the file that it was read from.
type kept struct {
	source  Source
	current atomic.Pointer[List]
	waiting atomic.Pointer[Shrunk] // nil for none
	// seen is the state of the file that was loaded last, and written the one at the
	// last look; both are guarded by reload.
	seen, written fileState
}

type fileState struct {
	size    int64
	changed time.Time
}

// Options are the options of Open.
type Options struct {
	Log *slog.Logger // required
	// Loaded is called after each attempt to load a list: with the list, or with the
	// reason why there is none. It may be nil.
	Loaded func(list string, l *List, err error)
	Now    func() time.Time // required
	// Accepted keeps what was accepted of each list. Nil means that nothing is kept: then the first version of
	// each list counts.
	Accepted Acceptances
	// MaxBytes is the maximum memory that all lists together may take, as List.Bytes counts it; 0 means
	// no limit. A list that exceeds it is refused as soon as it does so. While a list is loaded again, the
	// version in use does not count.
	MaxBytes int64
	Setting  string // what an error calls the setting of MaxBytes
}

// selfTested is the number of names of a new version of a list that are searched before it
// is used.
const selfTested = 1000

// Open loads all lists. The error joins the problems of all of them.
func Open(ctx context.Context, sources []Source, o Options) (*Lists, error) {
	all := &Lists{
		lists: map[string]*kept{}, log: o.Log, loaded: o.Loaded, now: o.Now, read: Load, maxBytes: o.MaxBytes, setting: o.Setting, accepted: o.Accepted,
	}
	if all.accepted == nil {
		all.accepted = remembered{}
	}
	if all.loaded == nil {
		all.loaded = func(string, *List, error) {}
	}
	var problems error
	for _, s := range sources {
		k := &kept{source: s}
		if err := all.load(ctx, k); err != nil {
			problems = errors.Join(problems, fmt.Errorf("list %s: %w", s.Name, err))
		}
		all.lists[s.Name] = k
	}
	return all, problems
}

// Named returns lists that are never loaded, for a host that makes no checks and only
// has to know their names.
func Named(sources []Source) *Lists {
	all := &Lists{lists: map[string]*kept{}}
	for _, s := range sources {
		all.lists[s.Name] = &kept{source: s}
	}
	return all
}

// ListsOf returns lists of which one is loaded, from no file.
func ListsOf(name string, l *List) *Lists {
	lists := Named([]Source{{Name: name}})
	lists.lists[name].current.Store(l)
	return lists
}

// load loads a list and makes it the current one.
func (a *Lists) load(ctx context.Context, k *kept) error {
	state, err := k.source.state()
	var accepted Accepted
	if err == nil {
		accepted, err = a.accepted.AcceptedList(ctx, k.source.Name)
	}
	if err != nil {
		a.loaded(k.source.Name, nil, err)
		return err
	}
	k.seen, k.written = state, state
	k.waiting.Store(nil)
	source := k.source
	if a.maxBytes > 0 {
		source.MaxBytes = max(1, a.maxBytes-a.others(k))
	}
	source.Today = a.now()
	l, err := a.read(ctx, source)
	if large := (*tooLargeError)(nil); errors.As(err, &large) {
		err = fmt.Errorf("%s: its first %d entries exceed the limit %s of %d bytes for all lists, of which other lists take %d: raise the limit, or use a shorter list",
			source.Path, large.entries, a.setting, a.maxBytes, a.others(k))
	}
	if err == nil {
		var tested SelfTest
		if tested, err = l.SelfTest(ctx, selfTested, a.now); err == nil {
			err = tested.problem()
		}
	}
	if err == nil {
		err = a.guard(k, l, accepted)
	}
	a.loaded(k.source.Name, l, err)
	if err != nil {
		return err
	}
	k.current.Store(l)
	if l.Lacks == 0 && l.Entries != accepted.Entries {
		if err := a.accepted.AcceptEntries(ctx, k.source.Name, l.Entries); err != nil {
			a.log.Error("the number of entries of a list is not stored", "list", k.source.Name, "error", err)
		}
	}
	a.log.Info("loaded a list", "list", k.source.Name, "version", l.Version, "format", l.Format, "entries", l.Entries, "names", l.Names, "uncompared", l.Uncompared, "bytes", l.Bytes)
	if l.Uncompared > 0 {
		a.log.Warn("a list has names that are not compared as a whole: they are found only as they are written", "list", k.source.Name, "names", l.Uncompared)
	}
	if len(l.Unread) > 0 {
		a.log.Warn("a list has values that are not used", "list", k.source.Name, "values", l.Unread)
	}
	return nil
}

// others returns the memory that the other lists take.
func (a *Lists) others(than *kept) (bytes int64) {
	for _, k := range a.lists {
		if l := k.current.Load(); l != nil && k != than {
			bytes += l.Bytes
		}
	}
	return bytes
}

// Refresh loads the lists whose files have changed since they were loaded, once a file has
// not changed between two calls. A list whose file cannot be read stays as it is until the file changes
// again; the log says why. A version that lost more than half of the entries is loaded once it is accepted.
// Searches see the old version or the new one, never a mixture.
func (a *Lists) Refresh(ctx context.Context) {
	a.reload.Lock()
	defer a.reload.Unlock()
	for _, name := range a.Names() {
		k := a.lists[name]
		state, err := k.source.state()
		if still := state == k.written; err == nil && (state == k.seen && !a.nowAccepted(ctx, k) || !still) {
			k.written = state
			continue
		}
		if err != nil && k.seen == (fileState{}) {
			continue // logged already
		}
		if err == nil {
			err = a.load(ctx, k)
		} else {
			k.seen, k.written = fileState{}, fileState{}
			a.loaded(name, nil, err)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, ErrShrunk) { // which is logged
			a.log.Error("a list cannot be read; its last version stays in use", "list", name, "error", err)
		}
	}
}

// Reload loads the lists whose files have changed since they were loaded, at once, and returns
// their names. A list that cannot be read stays as it is; the error joins the reasons.
func (a *Lists) Reload(ctx context.Context) (loaded []string, problems error) {
	a.reload.Lock()
	defer a.reload.Unlock()
	for _, name := range a.Names() {
		k := a.lists[name]
		if state, err := k.source.state(); err == nil && state == k.seen && !a.nowAccepted(ctx, k) {
			continue
		}
		if err := a.load(ctx, k); err != nil {
			problems = errors.Join(problems, fmt.Errorf("list %s: %w", name, err))
			continue
		}
		loaded = append(loaded, name)
	}
	return loaded, problems
}

// Watch calls Refresh at every interval until ctx ends.
func (a *Lists) Watch(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.Refresh(ctx)
		}
	}
}

// Names returns the names of the lists in order.
func (a *Lists) Names() []string { return slices.Sorted(maps.Keys(a.lists)) }

// List returns the current version of a list, and whether it is older than its
// maximum age at the given time. It returns nil if there is no such list, or it is not
// loaded.
func (a *Lists) List(name string, now time.Time) (l *List, old bool) {
	k, ok := a.lists[name]
	if !ok {
		return nil, false
	}
	l = k.current.Load()
	return l, l != nil && k.source.MaxAge > 0 && now.Sub(l.Date) > k.source.MaxAge
}
