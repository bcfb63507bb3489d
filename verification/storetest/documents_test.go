package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

type (
	document = verification.Document
	saveFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error)
)

// uploading breaks SaveDocument.
func uploading(change func(sound saveFunc) saveFunc) breakage {
	return func(b *broken, sound stores) { b.SaveDocumentFunc = change(sound.SaveDocument) }
}

// keeping breaks the content that OpenDocument returns.
func keeping(change func(content []byte) []byte) breakage {
	return func(b *broken, sound stores) {
		sent := &memo[string, []byte]{}
		b.SaveDocumentFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
			var read bytes.Buffer
			got, err := sound.SaveDocument(ctx, r, d, io.TeeReader(content, &read))
			sent.set(d.ID, read.Bytes())
			return got, err
		}
		b.OpenDocumentFunc = func(_ context.Context, _ runRef, id string) (io.ReadCloser, error) {
			content, _ := sent.get(id)
			return io.NopCloser(bytes.NewReader(change(content))), nil
		}
	}
}

// knowing breaks the results of Document.
func knowing(change func(*document)) breakage {
	return func(b *broken, sound stores) {
		b.DocumentFunc = func(ctx context.Context, r runRef, id string) (document, error) {
			d, err := sound.Document(ctx, r, id)
			if err == nil {
				change(&d)
			}
			return d, err
		}
	}
}

// scoped breaks the run of all methods.
func scoped(change func(*runRef)) breakage {
	return func(b *broken, sound stores) {
		b.SaveDocumentFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
			change(&r)
			return sound.SaveDocument(ctx, r, d, content)
		}
		b.DocumentFunc = func(ctx context.Context, r runRef, id string) (document, error) {
			change(&r)
			return sound.Document(ctx, r, id)
		}
		b.OpenDocumentFunc = func(ctx context.Context, r runRef, id string) (io.ReadCloser, error) {
			change(&r)
			return sound.OpenDocument(ctx, r, id)
		}
		b.RemoveDocumentFunc = func(ctx context.Context, r runRef, id string) error {
			change(&r)
			return sound.RemoveDocument(ctx, r, id)
		}
	}
}

// removing breaks RemoveDocument.
func removing(change func(ctx context.Context, sound verification.DocumentStore, r runRef, id string) error) breakage {
	return func(b *broken, sound stores) {
		b.RemoveDocumentFunc = func(ctx context.Context, r runRef, id string) error { return change(ctx, sound, r, id) }
	}
}

func documentBreaches() []breach {
	return slices.Concat(keptBreaches(), contentBreaches(), removalBreaches())
}

func removalBreaches() []breach {
	const gone, others = "a removed document is gone", "removing a document leaves the others"
	const absent, space = "removing an unknown document is no error", "a removed document frees its space"
	return []breach{
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
		{space, "the document is hidden and kept", func(b *broken, sound stores) {
			var hidden memo[string, bool]
			b.RemoveDocumentFunc = func(_ context.Context, _ runRef, id string) error {
				hidden.set(id, true)
				return nil
			}
			b.DocumentFunc = func(ctx context.Context, r runRef, id string) (document, error) {
				if _, gone := hidden.get(id); gone {
					return document{}, &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
				}
				return sound.Document(ctx, r, id)
			}
		}},
	}
}

func keptBreaches() []breach {
	const back, apart = "a document is returned as it was saved", "a document belongs to its run and tenant"
	const over, once = "a save with a cancelled context stores nothing", "concurrent saves are all stored"
	return []breach{
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
		{apart, "a document that is missing reads as an empty one", func(b *broken, sound stores) {
			b.OpenDocumentFunc = func(ctx context.Context, r runRef, id string) (io.ReadCloser, error) {
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
		{once, "all documents have the content of the last", func(b *broken, sound stores) {
			last := &memo[string, []byte]{}
			b.SaveDocumentFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
				var read bytes.Buffer
				got, err := sound.SaveDocument(ctx, r, d, io.TeeReader(content, &read))
				last.set("last", read.Bytes())
				return got, err
			}
			b.OpenDocumentFunc = func(context.Context, runRef, string) (io.ReadCloser, error) {
				content, _ := last.get("last")
				return io.NopCloser(bytes.NewReader(content)), nil
			}
		}},
	}
}

func contentBreaches() []breach {
	const brokenOff, digest = "an upload that fails is not stored", "size and digest are those of the content"
	const replaced = "a document is never replaced"
	return []breach{
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
		{replaced, "the later content replaces the earlier", func(b *broken, sound stores) {
			b.SaveDocumentFunc = func(ctx context.Context, r runRef, d document, content io.Reader) (document, error) {
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
