// Where the bucket is, and who asks for it.

package s3

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// attempts is how often a request is made before the object store counts as
// unavailable; the pauses between them add up to less than two seconds.
const attempts = 3

// Options say where the bucket is. Printed or logged, they do not tell the
// keys.
type Options struct {
	Endpoint  string            // host, or host:port
	Bucket    string            // is there already
	Prefix    string            // what the keys begin with; may be empty
	Region    string            // empty: the object store is asked for it
	AccessKey string            `json:"-"`
	SecretKey string            `json:"-"`
	Secure    bool              // over TLS
	Transport http.RoundTripper `json:"-"` // nil for one with time limits
}

// Format writes the options without the keys.
func (o Options) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "bucket %q, prefix %q", o.Bucket, o.Prefix)
}

// LogValue is the options without the keys.
func (o Options) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(o)) }

// New makes a store in a bucket. It does not connect: that the bucket is
// missing or closed shows when it is used.
func New(o Options) (*Store, error) {
	prefix := strings.Trim(o.Prefix, "/")
	switch {
	case o.AccessKey == "" || o.SecretKey == "":
		return nil, errors.New("open the bucket of documents: access key and secret key are needed")
	case s3utils.CheckValidBucketNameStrict(o.Bucket) != nil:
		return nil, fmt.Errorf("open the bucket of documents: %q cannot be the name of a bucket", o.Bucket)
	case prefix != strings.TrimPrefix(path.Clean("/"+prefix), "/"):
		return nil, fmt.Errorf("open the bucket of documents: the prefix %q is no clean path", o.Prefix)
	}
	client, err := minio.NewCore(o.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(o.AccessKey, o.SecretKey, ""),
		Secure:     o.Secure,
		Transport:  o.Transport,
		Region:     o.Region,
		MaxRetries: attempts,
	})
	if err != nil { // it repeats the endpoint, and somebody may have written keys into that
		return nil, errors.New("open the bucket of documents: the endpoint must be a host, or host:port")
	}
	return &Store{client: client, bucket: o.Bucket, prefix: prefix}, nil
}
