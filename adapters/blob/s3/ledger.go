// The ledger of erasures beside the documents of a bucket.

package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// ledgerFolder has an object for each entry of the ledger. Its key begins with a number that is smaller the
// later the entry is, since a bucket lists its keys in ascending order, and then has the entry, so that a list
// of keys is enough.
const ledgerFolder = ".erasures"

var _ verification.ErasureLedger = (*Store)(nil)

// NoteErasures implements verification.ErasureLedger.
func (s *Store) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	for _, e := range entries {
		raw, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode an erasure: %w", err)
		}
		key := fmt.Sprintf("%016x-%s-%s", math.MaxInt64-e.At.UnixMicro(), base64.RawURLEncoding.EncodeToString(raw), rand.Text()[:8])
		name := path.Join(s.prefix, ledgerFolder, key)
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

// EachErasure implements verification.ErasureLedger.
func (s *Store) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	folder := path.Join(s.prefix, ledgerFolder) + "/"
	after := ""
	for {
		var page []verification.Erasure
		err := s.request(ctx, func(ctx context.Context) error {
			listing, stop := context.WithCancel(ctx)
			defer stop()
			page = nil
			for object := range s.client.Client.ListObjects(listing, s.bucket, minio.ListObjectsOptions{Prefix: folder, StartAfter: after, MaxKeys: ledgerPage}) {
				if object.Err != nil {
					return object.Err
				}
				after = object.Key
				if e, ok := entryOf(path.Base(object.Key)); ok {
					page = append(page, e)
				}
				if len(page) == ledgerPage {
					break
				}
			}
			return nil
		})
		if err != nil {
			return wrap("list", ledgerFolder, err)
		}
		for _, e := range page {
			if !f(e) {
				return nil
			}
		}
		if len(page) < ledgerPage {
			return nil
		}
	}
}

// ledgerPage is how many entries one request returns.
const ledgerPage = 200

// entryOf returns the entry in the name of an object. Another object is no entry.
func entryOf(name string) (e verification.Erasure, ok bool) {
	parts := strings.SplitN(name, "-", 2)
	if len(parts) < 2 {
		return e, false
	}
	encoded := parts[1][:max(0, strings.LastIndexByte(parts[1], '-'))]
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(raw, &e) != nil || e.Run == "" {
		return verification.Erasure{}, false
	}
	return e, true
}
