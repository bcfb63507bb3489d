package storetest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

func documentBreaches() []documentBreach {
	return slices.Concat(keptBreaches(), contentBreaches(), refusalBreaches(), removalBreaches())
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
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				d, err := sound(ctx, r, d, accept, content)
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
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				return sound(context.WithoutCancel(ctx), r, d, accept, content)
			}
		})},
		{over, "SaveDocument looks at the context too early", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				if err := ctx.Err(); err != nil {
					return document{}, err
				}
				return sound(context.WithoutCancel(ctx), r, d, accept, content)
			}
		})},
		{over, "SaveDocument looks at the context too late", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				if d, err := sound(context.WithoutCancel(ctx), r, d, accept, content); err != nil {
					return d, err
				}
				return document{}, ctx.Err()
			}
		})},
		{once, "one run at a time may save", uploading(func(sound saveFunc) saveFunc {
			last := &memo[string, runRef]{}
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				if other, ok := last.get("last"); ok && other != r {
					return document{}, &verification.Error{Kind: verification.ErrUnavailable, Subject: "document"}
				}
				last.set("last", r)
				return sound(ctx, r, d, accept, content)
			}
		})},
		{once, "all documents have the content of the last", func(b *brokenDocuments, sound verification.DocumentStore) {
			last := &memo[string, []byte]{}
			b.save = func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				var read bytes.Buffer
				got, err := sound.SaveDocument(ctx, r, d, accept, io.TeeReader(content, &read))
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
	const types, accepts = "the media type is found from the content", "what accept does not list is refused"
	const place, digest = "where a JPEG was taken is not kept", "size and digest are of what is kept"
	accepting := func(change func(accept []string) []string) func(*brokenDocuments, verification.DocumentStore) {
		return uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				return sound(ctx, r, d, change(accept), content)
			}
		})
	}
	return []documentBreach{
		{types, "it is taken from the sender", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				got, err := sound(ctx, r, d, accept, content)
				got.MediaType = d.MediaType
				return got, err
			}
		})},
		{accepts, "accept is ignored", accepting(func([]string) []string { return nil })},
		{accepts, "an empty accept takes nothing", accepting(func(accept []string) []string { return append(accept, "video/mp4") })},
		{accepts, "only the first of the list is accepted", accepting(func(accept []string) []string { return accept[:min(1, len(accept))] })},
		{accepts, "a pattern is no type", accepting(func(accept []string) []string {
			return slices.DeleteFunc(append(slices.Clone(accept), "video/mp4"), func(a string) bool { return strings.Contains(a, "*") })
		})},
		{place, "the JPEG is kept as it was sent", keeping(slices.Clone[[]byte])},
		{place, "the Exif goes and the XMP stays", keeping(func(content []byte) []byte {
			return bytes.Replace(content, []byte("\x13\x00\x00\x00\x01"), make([]byte, 5), 1)
		})},
		{place, "the picture is coded again", keeping(func(content []byte) []byte {
			var b bytes.Buffer
			if m, err := jpeg.Decode(bytes.NewReader(content)); err == nil {
				_ = jpeg.Encode(&b, m, &jpeg.Options{Quality: 20})
			}
			return b.Bytes()
		})},
		{digest, "they are of what was sent", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				var read bytes.Buffer
				got, err := sound(ctx, r, d, accept, io.TeeReader(content, &read))
				sum := sha256.Sum256(read.Bytes())
				got.Size, got.SHA256 = int64(read.Len()), hex.EncodeToString(sum[:])
				return got, err
			}
		})},
		{digest, "the digest is in capitals", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				got, err := sound(ctx, r, d, accept, content)
				got.SHA256 = strings.ToUpper(got.SHA256)
				return got, err
			}
		})},
	}
}

func refusalBreaches() []documentBreach {
	const long, endless = "a document may be as long as the limit and no longer", "an endless upload is given up"
	const undecodable, huge = "an image that cannot be decoded is refused", "an image out of bounds is refused"
	const named, brokenOff = "a refusal names the field and keeps nothing", "an upload that breaks off is not kept"
	isImage := func(content []byte) bool {
		return bytes.HasPrefix(content, []byte("\xff\xd8\xff")) || bytes.HasPrefix(content, []byte("\x89PNG\r\n"))
	}
	upTo := func(most int64) func(*brokenDocuments, verification.DocumentStore) {
		return uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				return sound(ctx, r, d, accept, io.LimitReader(content, most))
			}
		})
	}
	return []documentBreach{
		{"what has no known type is refused", "it is kept as bytes", lenient(func(content []byte) bool { return !isImage(content) })},
		{"what has no known type is refused", "an empty file is kept", lenient(func(content []byte) bool { return len(content) == 0 })},
		{long, "the limit is not looked at", lenient(func(content []byte) bool { return len(content) > verification.MaxDocumentBytes })},
		{long, "the limit is one byte less", upTo(verification.MaxDocumentBytes - 1)},
		{long, "what is too much is cut off", upTo(verification.MaxDocumentBytes)},
		{endless, "SaveDocument reads everything first", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				all, err := io.ReadAll(content)
				if err != nil {
					return document{}, err
				}
				return sound(ctx, r, d, accept, bytes.NewReader(all))
			}
		})},
		{undecodable, "the first bytes are enough", lenient(isImage)},
		{huge, "the header is not looked at", lenient(func(content []byte) bool {
			c, _, err := image.DecodeConfig(bytes.NewReader(content))
			return err == nil && c.Width > 50_000
		})},
		{named, "it names no field", refusing(func(_ saveFunc, _ runRef, _ document, _ []byte, _ error) (document, error) {
			return document{}, &verification.Error{Kind: verification.ErrInvalid, Subject: "document"}
		})},
		{named, "it says no reason", refusing(func(_ saveFunc, _ runRef, d document, _ []byte, _ error) (document, error) {
			return document{}, &verification.Error{
				Kind: verification.ErrInvalid, Subject: "document", Fields: []verification.FieldError{{Name: d.Field}},
			}
		})},
		{named, "something is kept", refusing(func(sound saveFunc, r runRef, d document, _ []byte, err error) (document, error) {
			_, _ = sound(context.Background(), r, d, nil, strings.NewReader("%PDF-1.4\n%%EOF\n"))
			return document{}, err
		})},
		{brokenOff, "what came is kept as if it were all", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				came, _ := io.ReadAll(content)
				return sound(ctx, r, d, accept, bytes.NewReader(came))
			}
		})},
		{brokenOff, "it is told and what came is kept", uploading(func(sound saveFunc) saveFunc {
			return func(ctx context.Context, r runRef, d document, accept []string, content io.Reader) (document, error) {
				came, broken := io.ReadAll(content)
				got, err := sound(ctx, r, d, accept, bytes.NewReader(came))
				return got, errors.Join(broken, err)
			}
		})},
	}
}
