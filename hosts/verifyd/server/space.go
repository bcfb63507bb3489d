// The free space of the disks of a host: below a reserve, it takes no new runs and no uploads.

package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/verification"
)

// minDiskReserve has room for the segment that is written and the next one.
const minDiskReserve = 2 * journal.DefaultSegmentBytes

// space is the disk of a folder.
type space struct {
	dir     string
	given   int64 // the reserve of the settings; 0 for none
	size    func(dir string) (datadir.Disk, error)
	refused atomic.Int64

	low    bool // the log says so
	failed bool
}

func newSpace(dir string, reserve int64) *space {
	return &space{dir: dir, given: reserve, size: datadir.DiskOf}
}

// read returns the free space and the reserve.
func (s *space) read() (free, reserve int64, err error) {
	disk, err := s.size(s.dir)
	return disk.Free, disk.Reserve(s.given), err
}

// left returns the free space above the reserve.
func (s *space) left() (int64, error) {
	free, reserve, err := s.read()
	return free - reserve, err
}

// room returns ErrUnavailable if the free space is below the reserve. A disk that does not say how
// much is free counts as having enough; the log says that it is not known.
func (s *space) room() error {
	if s == nil {
		return nil
	}
	free, reserve, err := s.read()
	if err != nil || free >= reserve {
		return nil //nolint:nilerr // watch logs it
	}
	s.refused.Add(1)
	full := verification.Unavailable("store", "the disk of the service is nearly full; runs that have started go on")
	full.Cause = fmt.Errorf("%s has %d bytes free, and the reserve is %d", s.dir, free, reserve)
	return full
}

// watch logs when the free space falls below the reserve, and when there is more again, until ctx ends.
func (s *space) watch(ctx context.Context, interval time.Duration, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.say(log)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (s *space) say(log *slog.Logger) {
	free, reserve, err := s.read()
	if err != nil {
		if !s.failed {
			log.Error("the free space of a disk is not known, so nothing is refused before the disk is full", "error", err)
		}
		s.failed = true
		return
	}
	s.failed = false
	low := free < reserve
	facts := []any{"folder", s.dir, "free", free, "reserve", reserve, "refused", s.refused.Load()}
	switch {
	case low && !s.low:
		log.Error("the disk is nearly full: new runs and uploads get 503, and runs that exist go on; "+
			"free some space on the disk, enlarge it, or lower "+cli.Setting("disk-reserve"), facts...)
	case !low && s.low:
		log.Info("the disk has its reserve again: new runs and uploads are accepted", facts...)
	}
	s.low = low
}

// disks returns the disks of the data folder and of uploads. If both are in one folder, that is one
// disk, which says everything once.
func (h *host) disks() (all []*space) {
	if f := h.storage.folder; f != nil {
		all = append(all, f.space)
	}
	if d, ok := h.documents.(documentFolder); ok {
		if len(all) == 0 || h.settings.BlobDir != "" {
			return append(all, d.space)
		}
	}
	return all
}

// spaceGauges reads the free space of disks.
func spaceGauges(disks []*space) gauges {
	free := prometheus.NewDesc("verifyd_disk_free_bytes", "Free space of the disk of a folder of this host.", []string{"folder"}, nil)
	reserve := prometheus.NewDesc("verifyd_disk_reserve_bytes", "Free space below which new runs and uploads get 503.", []string{"folder"}, nil)
	refused := prometheus.NewDesc("verifyd_disk_refused", "Runs and uploads that were refused because of the reserve, since the start.", []string{"folder"}, nil)
	return func(_ context.Context, set func(d *prometheus.Desc, value float64, labels ...string)) {
		for _, s := range disks {
			set(refused, float64(s.refused.Load()), s.dir)
			if left, kept, err := s.read(); err == nil {
				set(free, float64(left), s.dir)
				set(reserve, float64(kept), s.dir)
			}
		}
	}
}
