// Package s3 stores uploaded documents in a bucket of an S3 object store.
//
// A document is one object, PREFIX/TENANT/RUN/DOCUMENT/content, with its record in
// the user metadata. It is written to a temporary file first, because the size and
// the SHA-256 must be known when the request is sent.
//
// The object store must support If-None-Match on writes. The access key needs the
// permissions to read, write, delete and list objects: without the permission to list,
// AWS responds with "access denied" for an object that does not exist.
package s3

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// attempts limits the attempts of one request. The delays between them add up to
// less than two seconds.
const attempts = 3

// defaultTimeout is how long one call of the object store may take.
const defaultTimeout = 10 * time.Second

// Options configure New. Formatting or logging them does not show the keys.
type Options struct {
	Endpoint  string // host, or host:port
	Bucket    string // must exist
	Prefix    string // of all object keys; may be empty
	Region    string // empty for the one that the object store reports
	AccessKey string `json:"-"`
	SecretKey string `json:"-"`
	Secure    bool   // use TLS
	// Timeout bounds a call of the object store with all its attempts, but not the time to read a
	// document; 0 means 10 s.
	Timeout time.Duration
	// Transport is the HTTP transport; nil means the default of minio-go, which
	// has timeouts.
	Transport http.RoundTripper `json:"-"`
}

// Format implements fmt.Formatter without the keys.
func (o Options) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "bucket %q, prefix %q", o.Bucket, o.Prefix)
}

// LogValue implements slog.LogValuer without the keys.
func (o Options) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(o)) }

// New returns a store in a bucket. It does not connect: a missing or inaccessible
// bucket is an error of the first use. A missing folder for temporary files is an error now.
func New(o Options) (Store, error) {
	prefix := strings.Trim(o.Prefix, "/")
	switch {
	case o.AccessKey == "" || o.SecretKey == "":
		return nil, errors.New("open the bucket of documents: access key and secret key are required")
	case s3utils.CheckValidBucketNameStrict(o.Bucket) != nil:
		return nil, fmt.Errorf("open the bucket of documents: %q is not a valid bucket name", o.Bucket)
	case prefix != strings.TrimPrefix(path.Clean("/"+prefix), "/"):
		return nil, fmt.Errorf("open the bucket of documents: the prefix %q is not a clean path", o.Prefix)
	}
	client, err := minio.NewCore(o.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(o.AccessKey, o.SecretKey, ""),
		Secure:     o.Secure,
		Transport:  o.Transport,
		Region:     o.Region,
		MaxRetries: attempts,
	})
	if err != nil { // its text repeats the endpoint, which may contain keys
		return nil, errors.New("open the bucket of documents: the endpoint must be a host, or host:port")
	}
	spool, err := newSpool()
	if err != nil {
		return nil, fmt.Errorf("uploads need a folder for temporary files: set TMPDIR to a folder that can be written: %w", err)
	}
	spool.remove()
	return &store{client: client, bucket: o.Bucket, prefix: prefix, limit: cmp.Or(o.Timeout, defaultTimeout)}, nil
}
