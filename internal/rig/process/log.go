// The log of a host.

package process

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
)

// Log keeps the end of the log of a host and writes all of it to a file if there is
// a folder for it.
type Log struct {
	mu    sync.Mutex
	text  []byte
	crash string
	file  *os.File
}

func newLog(folder, name string) (*Log, error) {
	if folder == "" {
		return &Log{}, nil
	}
	f, err := os.Create(filepath.Join(folder, name+".log"))
	return &Log{file: f}, err
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_, _ = l.file.Write(p)
	}
	l.text = append(l.text, p...)
	const longest = 1 << 10 // of a line that two writes share
	if l.crash == "" {
		l.crash = crash(l.text[max(0, len(l.text)-len(p)-longest):])
	}
	const limit = 32 << 10
	if over := len(l.text) - limit; over > 0 {
		l.text = append([]byte(nil), l.text[over:]...)
	}
	return len(p), nil
}

// crash matches the first line that the Go runtime prints when it crashes.
func crash(text []byte) string {
	for line := range bytes.Lines(text) {
		first := bytes.HasPrefix(line, []byte("panic:")) || bytes.HasPrefix(line, []byte("fatal error:"))
		if first && bytes.HasSuffix(line, []byte("\n")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return ""
}

// String returns the end of the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	const limit = 2 << 10
	return string(l.text[max(0, len(l.text)-limit):])
}

// Crash returns the first line of a crash of the Go runtime, or "".
func (l *Log) Crash() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crash
}
