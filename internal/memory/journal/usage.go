// What a folder with a journal has, for operators.

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Usage is what a journal takes on disk.
type Usage struct {
	Segments int   // since the newest snapshot
	Bytes    int64 // of all files
	// SnapshotAt is when the newest snapshot was taken; zero if there is none.
	SnapshotAt time.Time
	// Torn are the files of ends that could not be read, with their sizes. Nothing reads them.
	Torn map[string]int64
}

// ReadUsage returns what the journal in a folder takes on disk. Another process may have the
// folder.
func ReadUsage(dir string) (u Usage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u, err
	}
	defer func() { _ = root.Close() }() // it was only read
	names, err := folder{root}.List()
	if err != nil {
		return u, err
	}
	replaced, segments := current(names)
	u.Segments = len(segments)
	for _, name := range names {
		info, err := root.Stat(name)
		if errors.Is(err, os.ErrNotExist) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return u, err
		}
		if name == snapshotName(replaced) {
			u.SnapshotAt = info.ModTime().UTC()
		}
		if strings.HasPrefix(name, tornPrefix) {
			if u.Torn == nil {
				u.Torn = map[string]int64{}
			}
			u.Torn[name] = info.Size()
		}
		if strings.Contains(name, segmentSuffix) || strings.Contains(name, snapshotSuffix) {
			u.Bytes += info.Size()
		}
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
