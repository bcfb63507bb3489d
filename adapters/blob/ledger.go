// The ledger of erasures beside a folder of documents.

package blob

import (
	"bufio"
	"bytes"
	"context"
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

// fileLedger is a ledger of LedgerFile.
type fileLedger struct {
	file string
	mu   sync.Mutex // of writers
}

// LedgerFile returns the ledger in a file, which the first entry creates. Its folder must exist. The file has one
// entry in JSON on each line, the newest last. A second file, with ".end" after its name, has the number of the last
// entry, so that a file that was cut is noticed. The ledger is safe for concurrent use, also by several processes on
// one machine.
func LedgerFile(file string) verification.ErasureLedger { return &fileLedger{file: file} }

// ledgerEnd returns the name of the second file of the ledger in a file.
func ledgerEnd(file string) string { return file + ".end" }

// NoteErasures implements verification.ErasureLedger. What a crash left of an entry stays on a line of its own.
func (l *fileLedger) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	var lines []byte
	last := verification.Erasure{}
	for _, e := range entries {
		line, err := e.Line()
		if err != nil {
			return fmt.Errorf("encode an erasure: %w", err)
		}
		lines = append(append(lines, line...), '\n')
		if e.Through = max(e.Through, e.Number); e.Through > last.Number {
			last = verification.Erasure{Ledger: e.Ledger, Number: e.Through, Kind: verification.ErasureOpened}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = l.write(lines)
	}
	if err == nil && last.Number > 0 {
		err = l.writeEnd(last)
	}
	return wrapLedger("write", err)
}

func wrapLedger(do string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s the ledger of erasures: %w", do, err)
	}
	return err
}

func (l *fileLedger) write(lines []byte) error {
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

// writeEnd writes the second file, unless it has a later end of the same ledger.
func (l *fileLedger) writeEnd(last verification.Erasure) error {
	if old := l.end(); old.Ledger == last.Ledger && old.Number >= last.Number {
		return nil
	}
	line, err := last.Line()
	if err == nil {
		err = replaceFile(ledgerEnd(l.file), line)
	}
	return err
}

// end returns what the second file has; without a number if there is none, or it cannot be read.
func (l *fileLedger) end() verification.Erasure {
	raw, err := os.ReadFile(ledgerEnd(l.file))
	if err != nil {
		return verification.Erasure{}
	}
	return verification.ParseErasure(raw)
}

// replaceFile writes a file in place of another one, which stays as it is if that fails.
func replaceFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(name))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ledgerLine is how long a line may be. A longer one cannot be read.
const ledgerLine = 4 << 10

// EachErasure implements verification.ErasureLedger.
func (l *fileLedger) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	more, err := l.each(ctx, func(line []byte) bool { return f(verification.ParseErasure(line)) })
	if err != nil {
		return wrapLedger("read", err)
	}
	if end := l.end(); more && end.Number > 0 {
		end.Kind = verification.ErasureCounted
		f(end)
	}
	return nil
}

// each calls f with the lines, as long as they may be at most, until f returns false.
func (l *fileLedger) each(ctx context.Context, f func(line []byte) (more bool)) (more bool, err error) {
	file, err := os.Open(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReaderSize(file, ledgerLine)
	for {
		line, err := lines.ReadSlice('\n')
		line = bytes.TrimSuffix(line, []byte("\n"))
		more := len(line) == 0 || f(line)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			_, err = lines.ReadSlice('\n')
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return false, err
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil || !more:
			return more, nil
		}
	}
}

// RepairErasures implements verification.ErasureLedger. The file as it was gets a name that ends with ".damaged-" and
// a number.
func (l *fileLedger) RepairErasures(ctx context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []byte
	numbered := false
	_, err := l.each(ctx, func(line []byte) bool {
		e := verification.ParseErasure(line)
		numbered = numbered || e.Number > 0
		if legible(e) && (e.Ledger == id || e.Number == 0 && !numbered) {
			kept = append(append(kept, line...), '\n')
		}
		return true
	})
	aside := ""
	for n := 1; err == nil; n++ {
		aside = fmt.Sprintf("%s.damaged-%d", l.file, n)
		if _, err = os.Lstat(aside); err == nil {
			continue
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
		if _, missing := os.Lstat(l.file); missing == nil {
			err = os.Rename(l.file, aside)
		}
	}
	if err == nil {
		err = replaceFile(l.file, kept)
	}
	if err == nil {
		if err = os.Remove(ledgerEnd(l.file)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return wrapLedger("repair", err)
}

// legible reports whether an entry could be read.
func legible(e verification.Erasure) bool {
	return e.Kind != verification.ErasureUnreadable && e.Kind != verification.ErasureUnfinished
}

// MemoryLedger returns an empty ledger that is lost when the process ends. It is safe for concurrent use.
func MemoryLedger() verification.ErasureLedger { return &memoryLedger{} }

type memoryLedger struct {
	mu      sync.Mutex
	entries []verification.Erasure
}

// NoteErasures implements verification.ErasureLedger.
func (l *memoryLedger) NoteErasures(ctx context.Context, entries ...verification.Erasure) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.entries = append(l.entries, entries...)
	return nil
}

// EachErasure implements verification.ErasureLedger.
func (l *memoryLedger) EachErasure(ctx context.Context, f func(verification.Erasure) (more bool)) error {
	l.mu.Lock()
	entries := slices.Clone(l.entries)
	l.mu.Unlock()
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !f(e) {
			return nil
		}
	}
	return nil
}

// RepairErasures implements verification.ErasureLedger.
func (l *memoryLedger) RepairErasures(ctx context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e verification.Erasure) bool {
		return !legible(e) || e.Number > 0 && e.Ledger != id
	})
	return ctx.Err()
}
