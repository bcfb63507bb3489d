// The ledger of erasures beside the documents of a bucket.

package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// ledgerFolder has an object for each entry of the ledger. Its key has the number of the entry and then the entry, so
// that a list of keys, which a bucket returns in ascending order, is enough. The keys of entries without a number,
// which earlier builds wrote, begin with a digit, and have 8 more characters at the end.
const (
	ledgerFolder  = ".erasures"
	damagedFolder = ".erasures-damaged"
	numberedKey   = "n%016x-%s"
)

// NoteErasures implements verification.ErasureLedger.
func (s *store) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	for _, e := range entries {
		raw, err := e.Line()
		if err != nil {
			return fmt.Errorf("encode an erasure: %w", err)
		}
		name := path.Join(s.prefix, ledgerFolder, fmt.Sprintf(numberedKey, e.Number, base64.RawURLEncoding.EncodeToString(raw)))
		err = s.request(ctx, func(ctx context.Context) error {
			_, err := s.client.PutObject(ctx, s.bucket, name, bytes.NewReader(raw), int64(len(raw)), "", "", minio.PutObjectOptions{ContentType: "application/json"})
			return err
		})
		if err != nil {
			return wrap("write", ledgerFolder, err)
		}
	}
	return nil
}

// EachErasure implements verification.ErasureLedger. It lists all objects: one request for 1,000 of them.
func (s *store) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	return s.eachEntry(ctx, func(_ string, e verification.Erasure) bool { return f(e) })
}

func (s *store) eachEntry(ctx context.Context, f func(key string, e verification.Erasure) (more bool)) error {
	folder := path.Join(s.prefix, ledgerFolder) + "/"
	after := ""
	for {
		var keys []string
		err := s.request(ctx, func(ctx context.Context) error {
			listing, stop := context.WithCancel(ctx)
			defer stop()
			keys = nil
			for object := range s.client.Client.ListObjects(listing, s.bucket, minio.ListObjectsOptions{Prefix: folder, StartAfter: after, MaxKeys: ledgerPage}) {
				if object.Err != nil {
					return object.Err
				}
				if keys = append(keys, object.Key); len(keys) == ledgerPage {
					break
				}
			}
			return nil
		})
		if err != nil {
			return wrap("list", ledgerFolder, err)
		}
		for _, key := range keys {
			if !f(key, entryOf(path.Base(key))) {
				return nil
			}
		}
		if len(keys) < ledgerPage {
			return nil
		}
		after = keys[len(keys)-1]
	}
}

// ledgerPage is how many entries one request returns.
const ledgerPage = 1000

// entryOf returns the entry in the name of an object.
func entryOf(name string) verification.Erasure {
	unreadable := verification.Erasure{Kind: verification.ErasureUnreadable}
	number, encoded, _ := strings.Cut(name, "-")
	numbered := strings.HasPrefix(number, "n")
	if !numbered {
		encoded = encoded[:max(0, strings.LastIndexByte(encoded, '-'))]
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return unreadable
	}
	e := verification.ParseErasure(raw)
	if e.Kind == verification.ErasureUnfinished || numbered != (e.Number > 0) || numbered && name != fmt.Sprintf(numberedKey, e.Number, encoded) {
		return unreadable
	}
	return e
}

// RepairErasures implements verification.ErasureLedger. The objects are moved to the folder .erasures-damaged.
func (s *store) RepairErasures(ctx context.Context, id string) error {
	var damaged []string
	err := s.eachEntry(ctx, func(key string, e verification.Erasure) bool {
		if e.Kind == verification.ErasureUnreadable || e.Number > 0 && e.Ledger != id {
			damaged = append(damaged, key)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, key := range damaged {
		err := s.request(ctx, func(ctx context.Context) error {
			_, err := s.client.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.bucket, Object: path.Join(s.prefix, damagedFolder, path.Base(key))},
				minio.CopySrcOptions{Bucket: s.bucket, Object: key})
			if err == nil {
				err = s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
			}
			return err
		})
		if err != nil {
			return wrap("repair", ledgerFolder, err)
		}
	}
	return nil
}
