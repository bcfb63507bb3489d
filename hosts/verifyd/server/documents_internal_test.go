// Test of removing uploads that were never completed.

package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
)

func TestBrokenUploadsAreRemovedWhileTheHostRuns(t *testing.T) {
	dir := t.TempDir()
	folder, err := blob.Folder(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	draft := filepath.Join(dir, ".incoming", "died")
	begun := time.Now().Add(-61 * time.Minute)
	if err := errors.Join(os.Mkdir(draft, 0o700), os.Chtimes(draft, begun, begun)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			removeIncomplete(ctx, folder, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		<-time.After(incompleteEvery + time.Second)
		cancel()
		<-ended
	})
	if _, err := os.Stat(draft); !errors.Is(err, os.ErrNotExist) || !strings.Contains(log.String(), "documents=1") {
		t.Errorf("the broken upload: %v, want it removed; the log says %q", err, log.String())
	}
}
