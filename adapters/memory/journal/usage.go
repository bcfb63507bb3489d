// What a folder with a journal has, for operators.

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Usage is what a journal takes on disk.
type Usage struct {
	Segments int
	Bytes    int64
}

// ReadUsage returns what the journal in a folder takes on disk. Another process may have the
// folder.
func ReadUsage(dir string) (u Usage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u, err
	}
	defer func() { _ = root.Close() }() // it was only read
	numbers, err := folder{root}.Segments()
	if err != nil {
		return u, err
	}
	for _, n := range numbers {
		info, err := root.Stat(segmentName(n))
		if errors.Is(err, os.ErrNotExist) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return u, err
		}
		u.Segments, u.Bytes = u.Segments+1, u.Bytes+info.Size()
	}
	return u, nil
}

// ReadHolder returns the process that took the folder last. It may have ended.
func ReadHolder(dir string) (h Holder, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return h, err
	}
	defer func() { _ = root.Close() }() // it was only read
	raw, err := root.ReadFile(lockFile)
	if err == nil {
		err = json.Unmarshal(raw, &h)
	}
	if err != nil {
		return h, fmt.Errorf("read who has the folder: %w", err)
	}
	return h, nil
}
