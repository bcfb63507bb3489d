// The ledger of erasures beside a folder of documents.

package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// FileLedger is a verification.ErasureLedger in a file, one entry in JSON on each line, the newest last. It is
// safe for concurrent use, also by several processes on one machine. Make one with LedgerFile.
type FileLedger struct {
	file string
	mu   sync.Mutex // of writers
}

// MemoryLedger is a verification.ErasureLedger that is lost when the process ends. The zero value is empty. It
// is safe for concurrent use.
type MemoryLedger struct {
	mu      sync.Mutex
	entries []verification.Erasure
}

var (
	_ verification.ErasureLedger = (*FileLedger)(nil)
	_ verification.ErasureLedger = (*MemoryLedger)(nil)
)

// LedgerFile returns the ledger in a file, which the first entry creates. Its folder must exist.
func LedgerFile(file string) *FileLedger { return &FileLedger{file: file} }

// NoteErasures implements verification.ErasureLedger. What a crash left of an entry stays on a line of its own,
// which readers skip.
func (l *FileLedger) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	var lines []byte
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode an erasure: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = l.write(lines)
	}
	if err != nil {
		return fmt.Errorf("write the ledger of erasures: %w", err)
	}
	return nil
}

func (l *FileLedger) write(lines []byte) error {
	_, missing := os.Stat(l.file)
	f, err := os.OpenFile(l.file, os.O_RDWR|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		err = syncFolder(filepath.Dir(l.file))
	}
	if err == nil {
		err = appendLines(f, lines)
	}
	return errors.Join(err, f.Close())
}

// appendLines writes lines to the end of a file, after the end of a line.
func appendLines(f *os.File, lines []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			lines = append([]byte{'\n'}, lines...)
		}
	}
	if _, err := f.Write(lines); err != nil {
		return err
	}
	return f.Sync()
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ledgerBlock is how much of the file is read at once.
const ledgerBlock = 64 << 10

// EachErasure implements verification.ErasureLedger.
func (l *FileLedger) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	file, err := os.Open(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the ledger of erasures: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read the ledger of erasures: %w", err)
	}
	var rest []byte // the end of a line whose beginning is before offset
	for offset := info.Size(); offset > 0; {
		block := make([]byte, min(ledgerBlock, offset))
		offset -= int64(len(block))
		_, err := file.ReadAt(block, offset)
		if err == nil || errors.Is(err, io.EOF) {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read the ledger of erasures: %w", err)
		}
		lines := bytes.Split(append(block, rest...), []byte{'\n'})
		if rest = lines[0]; offset == 0 {
			rest = nil
		} else {
			lines = lines[1:]
		}
		for _, line := range slices.Backward(lines) {
			var e verification.Erasure
			if json.Unmarshal(line, &e) != nil || e.Run == "" { // empty, or what a crash left
				continue
			}
			if !f(e) {
				return nil
			}
		}
	}
	return nil
}

// NoteErasures implements verification.ErasureLedger.
func (l *MemoryLedger) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.entries = append(l.entries, entries...)
	return nil
}

// EachErasure implements verification.ErasureLedger.
func (l *MemoryLedger) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	l.mu.Lock()
	entries := slices.Clone(l.entries)
	l.mu.Unlock()
	for _, e := range slices.Backward(entries) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !f(e) {
			return nil
		}
	}
	return nil
}
