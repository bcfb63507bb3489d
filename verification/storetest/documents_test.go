package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

type (
	document = verification.Document
	saveFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error)
)

// brokenDocuments is a sound store but for the methods that are set.
type brokenDocuments struct {
	save     saveFunc
	document func(context.Context, runRef, string) (document, error)
	open     func(context.Context, runRef, string) (io.ReadCloser, error)
	remove   func(context.Context, runRef, string) error
}

func (b brokenDocuments) SaveDocument(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
	return b.save(ctx, r, d, content)
}

func (b brokenDocuments) Document(ctx context.Context, r runRef, id string) (document, error) {
	return b.document(ctx, r, id)
}

func (b brokenDocuments) OpenDocument(ctx context.Context, r runRef, id string) (io.ReadCloser, error) {
	return b.open(ctx, r, id)
}

func (b brokenDocuments) RemoveDocument(ctx context.Context, r runRef, id string) error {
	return b.remove(ctx, r, id)
}

// documentBreach is a store that breaks one clause, and in which way.
type documentBreach struct {
	clause string
	way    string
	change func(b *brokenDocuments, sound verification.DocumentStore)
}

func (d documentBreach) store() verification.DocumentStore {
	sound := room()
	b := &brokenDocuments{sound.SaveDocument, sound.Document, sound.OpenDocument, sound.RemoveDocument}
	d.change(b, sound)
	return b
}

func room() verification.DocumentStore { return blob.Memory(100<<20, 100<<20) }

func TestEveryDocumentClauseCatchesItsBreach(t *testing.T) {
	for _, b := range documentBreaches() {
		t.Run(b.clause+": "+b.way, func(t *testing.T) {
			for _, c := range storetest.Documents() {
				if c.Name != b.clause {
					continue
				}
				if err := c.Check(t.Context(), room()); err != nil {
					t.Fatalf("on a sound store: %v, want nil", err)
				}
				if err := c.Check(t.Context(), b.store()); err == nil {
					t.Errorf("on a store where %s: nil, want an error", b.way)
				} else {
					t.Log(err)
				}
			}
		})
	}
}

func TestEveryDocumentClauseHasABreach(t *testing.T) {
	var clauses, broken []string
	for _, c := range storetest.Documents() {
		if slices.Contains(clauses, c.Name) {
			t.Errorf("two clauses have the name %q", c.Name)
		}
		if c.Promise == "" {
			t.Errorf("clause %q says nowhere where it is promised", c.Name)
		}
		clauses = append(clauses, c.Name)
	}
	for _, b := range documentBreaches() {
		broken = append(broken, b.clause)
		if !slices.Contains(clauses, b.clause) {
			t.Errorf("there is a breach of %q, which is no clause", b.clause)
		}
	}
	for _, name := range clauses {
		if !slices.Contains(broken, name) {
			t.Errorf("no broken store tries the clause %q", name)
		}
	}
}

func TestRunDocumentsTriesEveryClauseOnAStoreOfItsOwn(t *testing.T) {
	stores := map[verification.DocumentStore]bool{}
	storetest.RunDocuments(t, func(*testing.T) verification.DocumentStore {
		s := room()
		stores[s] = true
		return s
	})
	if got, want := len(stores), len(storetest.Documents()); got != want {
		t.Errorf("RunDocuments made %d stores, want %d", got, want)
	}
}

// uploading breaks what SaveDocument does with what it is given.
func uploading(change func(sound saveFunc) saveFunc) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) { b.save = change(sound.SaveDocument) }
}

// keeping breaks what is kept of a content.
func keeping(change func(content []byte) []byte) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) {
		sent := &memo[string, []byte]{}
		b.save = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
			var read bytes.Buffer
			got, err := sound.SaveDocument(ctx, r, d, io.TeeReader(content, &read))
			sent.set(d.ID, read.Bytes())
			return got, err
		}
		b.open = func(_ context.Context, _ runRef, id string) (io.ReadCloser, error) {
			content, _ := sent.get(id)
			return io.NopCloser(bytes.NewReader(change(content))), nil
		}
	}
}

// knowing breaks what Document tells.
func knowing(change func(*document)) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) {
		b.document = func(ctx context.Context, r runRef, id string) (document, error) {
			d, err := sound.Document(ctx, r, id)
			if err == nil {
				change(&d)
			}
			return d, err
		}
	}
}

// scoped breaks whose documents all methods are about.
func scoped(change func(*runRef)) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) {
		b.save = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
			change(&r)
			return sound.SaveDocument(ctx, r, d, content)
		}
		b.document = func(ctx context.Context, r runRef, id string) (document, error) {
			change(&r)
			return sound.Document(ctx, r, id)
		}
		b.open = func(ctx context.Context, r runRef, id string) (io.ReadCloser, error) {
			change(&r)
			return sound.OpenDocument(ctx, r, id)
		}
		b.remove = func(ctx context.Context, r runRef, id string) error {
			change(&r)
			return sound.RemoveDocument(ctx, r, id)
		}
	}
}

// removing breaks what RemoveDocument does.
func removing(change func(ctx context.Context, sound verification.DocumentStore, r runRef, id string) error) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) {
		b.remove = func(ctx context.Context, r runRef, id string) error { return change(ctx, sound, r, id) }
	}
}

func documentBreaches() []documentBreach {
	return slices.Concat(keptBreaches(), contentBreaches(), removalBreaches())
}

func removalBreaches() []documentBreach {
	const gone, others = "a removed document is gone", "removing a document leaves all others"
	const absent, space = "removing what is not there is no error", "a removed document frees its space"
	return []documentBreach{
		{gone, "RemoveDocument does nothing", removing(func(context.Context, verification.DocumentStore, runRef, string) error { return nil })},
		{others, "the run is ignored", removing(func(ctx context.Context, sound verification.DocumentStore, r runRef, id string) error {
			other := r
			other.Run = "d0000000-0000-7000-8000-000000000002"
			return errors.Join(sound.RemoveDocument(ctx, other, id), sound.RemoveDocument(ctx, r, id))
		})},
		{others, "all of the run are removed", removing(func(ctx context.Context, sound verification.DocumentStore, r runRef, id string) error {
			return errors.Join(sound.RemoveDocument(ctx, r, id), sound.RemoveDocument(ctx, r, "e0000000-0000-7000-8000-000000000002"))
		})},
		{absent, "it is refused", removing(func(ctx context.Context, sound verification.DocumentStore, r runRef, id string) error {
			if _, err := sound.Document(ctx, r, id); err != nil {
				return err
			}
			return sound.RemoveDocument(ctx, r, id)
		})},
		{space, "the document is hidden and kept", func(b *brokenDocuments, sound verification.DocumentStore) {
			var hidden memo[string, bool]
			b.remove = func(_ context.Context, _ runRef, id string) error {
				hidden.set(id, true)
				return nil
			}
			b.document = func(ctx context.Context, r runRef, id string) (document, error) {
				if _, gone := hidden.get(id); gone {
					return document{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
				}
				return sound.Document(ctx, r, id)
			}
		}},
	}
}

func keptBreaches() []documentBreach {
	const back, apart = "a document comes back as it was saved", "a document belongs to its run and tenant"
	const over, once = "a save whose context is over keeps nothing", "documents saved at once are all kept"
	return []documentBreach{
		{back, "Document forgets the field", knowing(func(d *document) { d.Field = "" })},
		{back, "Document forgets when", knowing(func(d *document) { d.CreatedAt = d.CreatedAt.Truncate(time.Millisecond) })},
		{back, "OpenDocument reads the first half", keeping(func(content []byte) []byte { return content[:len(content)/2] })},
		{back, "SaveDocument returns another id", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				d, err := sound(ctx, r, d, content)
				d.ID = strings.ToUpper(d.ID)
				return d, err
			}
		})},
		{apart, "the run is ignored", scoped(func(r *runRef) { r.Run = "d0000000-0000-7000-8000-000000000000" })},
		{apart, "the tenant is ignored", scoped(func(r *runRef) { r.Tenant = "d0000000-0000-7000-8000-000000000000" })},
		{apart, "a document that is missing reads as an empty one", func(b *brokenDocuments, sound verification.DocumentStore) {
			b.open = func(ctx context.Context, r runRef, id string) (io.ReadCloser, error) {
				f, err := sound.OpenDocument(ctx, r, id)
				if errors.Is(err, verification.ErrNotFound) {
					return io.NopCloser(strings.NewReader("")), nil
				}
				return f, err
			}
		}},
		{over, "SaveDocument looks at no context", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				return sound(context.WithoutCancel(ctx), r, d, content)
			}
		})},
		{over, "SaveDocument looks at the context too early", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				if err := ctx.Err(); err != nil {
					return document{}, err
				}
				return sound(context.WithoutCancel(ctx), r, d, content)
			}
		})},
		{over, "SaveDocument looks at the context too late", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				if d, err := sound(context.WithoutCancel(ctx), r, d, content); err != nil {
					return d, err
				}
				return document{}, ctx.Err()
			}
		})},
		{once, "one run at a time may save", uploading(func(sound saveFunc) saveFunc {
			last := &memo[string, runRef]{}
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				if other, ok := last.get("last"); ok && other != r {
					return document{}, &verification.Error{Kind: verification.ErrUnavailable, Subject: "document"}
				}
				last.set("last", r)
				return sound(ctx, r, d, content)
			}
		})},
		{once, "all documents have the content of the last", func(b *brokenDocuments, sound verification.DocumentStore) {
			last := &memo[string, []byte]{}
			b.save = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				var read bytes.Buffer
				got, err := sound.SaveDocument(ctx, r, d, io.TeeReader(content, &read))
				last.set("last", read.Bytes())
				return got, err
			}
			b.open = func(context.Context, runRef, string) (io.ReadCloser, error) {
				content, _ := last.get("last")
				return io.NopCloser(bytes.NewReader(content)), nil
			}
		}},
	}
}

func contentBreaches() []documentBreach {
	const brokenOff, digest = "an upload that breaks off is not stored", "size and digest are those of the content"
	const replaced = "a document is never replaced"
	return []documentBreach{
		{brokenOff, "the received part is stored as if it were complete", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				received, _ := io.ReadAll(content)
				return sound(ctx, r, d, bytes.NewReader(received))
			}
		})},
		{brokenOff, "the error is returned and the received part is stored", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				received, broken := io.ReadAll(content)
				got, err := sound(ctx, r, d, bytes.NewReader(received))
				return got, errors.Join(broken, err)
			}
		})},
		{digest, "the digest is in capitals", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				got, err := sound(ctx, r, d, content)
				got.SHA256 = strings.ToUpper(got.SHA256)
				return got, err
			}
		})},
		{digest, "the size is that of the largest document", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				d, err := sound(ctx, r, d, content)
				d.Size = verification.MaxDocumentBytes
				return d, err
			}
		})},
		{replaced, "the later content replaces the earlier", func(b *brokenDocuments, sound verification.DocumentStore) {
			b.save = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				if err := sound.RemoveDocument(ctx, r, d.ID); err != nil {
					return document{}, err
				}
				return sound.SaveDocument(ctx, r, d, content)
			}
		}},
		{replaced, "the conflict is not reported", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				got, err := sound(ctx, r, d, content)
				if errors.Is(err, verification.ErrConflict) {
					return d, nil
				}
				return got, err
			}
		})},
	}
}
