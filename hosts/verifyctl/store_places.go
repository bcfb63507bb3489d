// Where uploads, backups and ledgers of erasures are.

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
)

const bucketScheme = "s3://"

func isBucket(name string) bool { return strings.HasPrefix(name, bucketScheme) }

// bucket opens s3://BUCKET/PATH in the object store of the flags.
func (f documentFlags) bucket(name string) (s3.Store, error) {
	if f.S3Endpoint == "" {
		return nil, fmt.Errorf("%s: required for %s", cli.Setting("s3-endpoint"), name)
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(name, bucketScheme), "/")
	return s3.New(s3.Options{
		Endpoint: f.S3Endpoint, Bucket: bucket, Prefix: prefix, Region: f.S3Region, AccessKey: f.S3AccessKey, SecretKey: f.S3SecretKey, Secure: true,
	})
}

// bucketFile opens the folder of a file in a bucket, and returns the rest of its name.
func (f documentFlags) bucketFile(name string) (s3.Store, string, error) {
	end := strings.LastIndex(name, "/")
	bucket, err := f.bucket(name[:end])
	return bucket, name[end+1:], err
}

func errNoUploads() error {
	return fmt.Errorf("say where the uploads are: give %s, or %s and the bucket, as the hosts have them, or --without-documents",
		cli.Setting("blob-dir"), cli.Setting("s3-endpoint"))
}

// ofHosts returns the flags without an object store that is only for backups.
func (f documentFlags) ofHosts() documentFlags {
	if f.BlobDir != "" || f.S3Bucket == "" {
		f.S3Endpoint = ""
	}
	return f
}

// ledgerPlace is a ledger of erasures and where it is.
type ledgerPlace struct {
	name string
	verification.ErasureLedger
}

func fileLedger(name string) *ledgerPlace { return &ledgerPlace{name, blob.LedgerFile(name)} }

// openLedger opens the ledger in a file, in a folder, or in a bucket.
func (f documentFlags) openLedger(name string) (*ledgerPlace, error) {
	if isBucket(name) {
		name = strings.TrimSuffix(name, "/")
		bucket, err := f.bucket(name)
		return &ledgerPlace{name, bucket}, err
	}
	if isFolder(name) {
		for _, file := range []string{datadir.Folder(name).Erasures(), filepath.Join(name, hiddenLedger)} {
			if _, err := os.Stat(file); err == nil {
				return fileLedger(file), nil
			}
		}
		return nil, fmt.Errorf("%s has neither erasures.jsonl nor %s: give the data folder, or the folder of uploads of the hosts", name, hiddenLedger)
	}
	_, err := os.Stat(name)
	return fileLedger(name), err
}

// hiddenLedger is the name of the ledger in a folder of uploads.
const hiddenLedger = ".erasures.jsonl"

// copyTo puts the ledger in its place, unless it is there. A place with entries that the ledger does not have is left as it is.
func (l *ledgerPlace) copyTo(ctx context.Context, to *ledgerPlace) error {
	if l == nil || l.name == to.name || sameFolder(l.name, to.name) {
		return nil
	}
	there := map[verification.Erasure]bool{}
	if err := to.EachErasure(ctx, func(e verification.Erasure) bool {
		there[e] = e.Kind != verification.ErasureCounted
		return true
	}); err != nil {
		return err
	}
	var lacking []verification.Erasure
	err := l.EachErasure(ctx, func(e verification.Erasure) bool {
		if !there[e] && e.Kind != verification.ErasureUnreadable && e.Kind != verification.ErasureUnfinished && e.Kind != verification.ErasureCounted {
			lacking = append(lacking, e)
		}
		there[e] = false
		return true
	})
	for _, other := range there {
		if other && err == nil {
			err = fmt.Errorf("%s has entries that %s does not have: give it as --ledger, or move it away if it is of another installation", to.name, l.name)
		}
	}
	for batch := range slices.Chunk(lacking, ledgerBatch) {
		if err == nil {
			err = to.NoteErasures(ctx, batch...)
		}
	}
	return err
}

// ledgerBatch is how many entries are written at once.
const ledgerBatch = 1000
