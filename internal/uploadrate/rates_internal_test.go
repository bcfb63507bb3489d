// The rate of uploads.

package uploadrate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const uploadBurst = 10 << 20

// limitedUpload reads size bytes at the rate of a tenant and returns how long that takes.
func limitedUpload(ctx context.Context, p *Rates, tenant string, size int) (time.Duration, error) {
	began := time.Now()
	_, err := io.Copy(io.Discard, p.Reader(ctx, tenant, bytes.NewReader(make([]byte, size))))
	return time.Since(began), err
}

func TestUploadsOfATenantShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(uploadBurst)
		var both sync.WaitGroup
		var took [2]time.Duration
		for n := range took {
			both.Go(func() {
				var err error
				if took[n], err = limitedUpload(t.Context(), p, "one", uploadBurst/2+uploadRate); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if took, err := limitedUpload(t.Context(), p, "other", uploadBurst); took != 0 || err != nil {
			t.Errorf("the upload of another tenant takes %v, %v, want no time", took, err)
		}
		both.Wait()
		if longer := max(took[0], took[1]).Round(time.Second); longer != 2*time.Second {
			t.Errorf("two uploads of 1 s each beyond what may come at once take %v, want 2s", longer)
		}
	})
}

func TestLimitedUploadEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := New(uploadBurst)
		took, err := limitedUpload(ctx, p, "one", uploadBurst+10*uploadRate)
		if err == nil || errors.Is(err, io.EOF) || took > time.Second {
			t.Errorf("upload = %v, %v, want an error within 1s", took, err)
		}
	})
}
