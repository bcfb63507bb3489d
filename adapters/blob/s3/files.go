// Files beside the documents of a bucket, such as backups.

package s3

import (
	"context"
	"io"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
)

// partBytes is how much of a file is in memory while it is written: it has at most 10,000 parts.
const partBytes = 64 << 20

// PutFile implements Store.
func (s *store) PutFile(ctx context.Context, name string, content io.Reader) error {
	_, err := s.client.Client.PutObject(ctx, s.bucket, path.Join(s.prefix, name), content, -1, minio.PutObjectOptions{PartSize: partBytes})
	return wrap("write", name, translate(ctx, err))
}

// OpenFile implements Store.
func (s *store) OpenFile(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.read(ctx, name, path.Join(s.prefix, name))
}

// read opens an object, whose content may take longer than the limit.
func (s *store) read(ctx context.Context, name, key string) (io.ReadCloser, error) {
	reading, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(s.limit, cancel)
	body, _, _, err := s.client.GetObject(reading, s.bucket, key, minio.GetObjectOptions{})
	late.Stop() // the content may take longer
	if err != nil {
		cancel()
		return nil, wrap("open", name, translate(ctx, err))
	}
	return &download{ctx: ctx, ReadCloser: body, cancel: cancel}, nil
}
