// Encoded runs, kept for the clients that poll them.

package httpapi

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// encoded is a body with its entity tag, as headers take them.
type encoded struct {
	body   []byte
	length []string // of Content-Length
	etag   []string
}

// etagOf is a strong tag: equal bodies have equal tags.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}

// bodies keeps the newest body of each run read lately, up to a number of
// bytes. A body is served only for a detail that is equal to the one it was
// made of, so the engine may answer what it likes.
type bodies struct {
	most int

	mu    sync.Mutex
	bytes int
	order *list.List // of *bodyEntry; front is the newest
	runs  map[verification.RunRef]*list.Element
}

type bodyEntry struct {
	ref    verification.RunRef
	detail verification.RunDetail
	encoded
}

// entryCost is the rough size of an entry without its body and its detail.
const entryCost = 1024

func (e *bodyEntry) cost() int { return entryCost + 2*len(e.body) }

func newBodies(most int) *bodies {
	return &bodies{most: most, order: list.New(), runs: map[verification.RunRef]*list.Element{}}
}

// get returns the body of a detail, if it is kept.
func (b *bodies) get(ref verification.RunRef, d verification.RunDetail) (encoded, bool) {
	b.mu.Lock()
	entry := b.touch(ref)
	b.mu.Unlock()
	if entry == nil || !sameDetail(entry.detail, d) {
		return encoded{}, false
	}
	return entry.encoded, true
}

// touch finds an entry and makes it the newest. Entries never change.
func (b *bodies) touch(ref verification.RunRef) *bodyEntry {
	el, ok := b.runs[ref]
	if !ok {
		return nil
	}
	b.order.MoveToFront(el)
	return entryOf(el)
}

// put keeps a body in place of the one that the run had.
func (b *bodies) put(ref verification.RunRef, d verification.RunDetail, e encoded) {
	entry := &bodyEntry{ref, d, e}
	if entry.cost() > b.most {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if el, ok := b.runs[ref]; ok {
		b.remove(el)
	}
	b.runs[ref] = b.order.PushFront(entry)
	b.bytes += entry.cost()
	for b.bytes > b.most {
		b.remove(b.order.Back())
	}
}

func (b *bodies) remove(el *list.Element) {
	entry := entryOf(el)
	b.order.Remove(el)
	delete(b.runs, entry.ref)
	b.bytes -= entry.cost()
}

func entryOf(el *list.Element) *bodyEntry {
	entry, _ := el.Value.(*bodyEntry)
	return entry
}

// sameDetail tells whether two details have the same body.
func sameDetail(a, b verification.RunDetail) bool {
	return a.Revision == b.Revision && a.ID == b.ID && a.WorkflowID == b.WorkflowID && a.ReferenceID == b.ReferenceID &&
		a.Status == b.Status && a.StartedAt.Equal(b.StartedAt) && a.CompletedAt.Equal(b.CompletedAt) &&
		samePointed(a.Action, b.Action) && samePointed(a.Error, b.Error) &&
		a.Decision == b.Decision && a.Notes == b.Notes && a.ResolvedAt.Equal(b.ResolvedAt) &&
		slices.Equal(a.Reviews, b.Reviews) && slices.EqualFunc(a.Checks, b.Checks, sameCheck)
}

func sameCheck(a, b verification.Check) bool {
	return a.Key == b.Key && a.Label == b.Label && a.Status == b.Status && bytes.Equal(a.Data, b.Data)
}

func samePointed[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
