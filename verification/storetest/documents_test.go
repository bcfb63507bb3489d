package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

type (
	document = verification.Document
	saveFunc = func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error)
)

// brokenDocuments is a sound store but for the methods that are set.
type brokenDocuments struct {
	save     saveFunc
	document func(context.Context, runRef, string) (document, error)
	open     func(context.Context, runRef, string) (io.ReadCloser, error)
	remove   func(context.Context, runRef, string) error
}

func (b brokenDocuments) SaveDocument(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
	return b.save(ctx, r, d, accept, content)
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

// lenient takes what the sound store refuses, when it is like that.
func lenient(like func(content []byte) bool) func(*brokenDocuments, verification.DocumentStore) {
	return refusing(func(_ saveFunc, _ runRef, d document, content []byte, err error) (document, error) {
		if like(content) {
			return d, nil
		}
		return document{}, err
	})
}

// refusing breaks what SaveDocument does once it has refused something.
func refusing(then func(sound saveFunc, r runRef, d document, content []byte, err error) (document, error)) func(*brokenDocuments, verification.DocumentStore) {
	return uploading(func(sound saveFunc) saveFunc {
		return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
			var read bytes.Buffer
			got, err := sound(ctx, r, d, accept, io.TeeReader(content, &read))
			if errors.Is(err, verification.ErrInvalid) {
				return then(sound, r, d, read.Bytes(), err)
			}
			return got, err
		}
	})
}

// keeping breaks what is kept of a content.
func keeping(change func(content []byte) []byte) func(*brokenDocuments, verification.DocumentStore) {
	return func(b *brokenDocuments, sound verification.DocumentStore) {
		sent := &memo[string, []byte]{}
		b.save = func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
			var read bytes.Buffer
			got, err := sound.SaveDocument(ctx, r, d, accept, io.TeeReader(content, &read))
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
		b.save = func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
			change(&r)
			return sound.SaveDocument(ctx, r, d, accept, content)
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
