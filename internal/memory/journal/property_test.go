package journal_test

import (
	"errors"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification"
)

// TestAReplayedStoreReadsTheSame calls a store at random, and compares every read with every
// read of the store that another process opens after a loss of power.
func TestAReplayedStoreReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, d := t.Context(), newFakeDisk()
		size := rapid.Int64Range(1, 5000).Draw(t, "size")
		snapshots := rapid.SampledFrom([]int64{0, 3000}).Draw(t, "a snapshot after")
		open := func(d *fakeDisk) *journal.Store {
			s, err := journal.OpenDisk(ctx, d, journal.Options{SegmentBytes: size, SnapshotBytes: snapshots})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		c, s := storereads.NewCaller(), open(d)
		c.Use(s)
		actions := map[string]func(*rapid.T){
			"snapshot": func(t *rapid.T) {
				if err := s.Snapshot(ctx); err != nil && !errors.Is(err, verification.ErrConflict) {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				d = d.afterKill()
				s = open(d)
				c.Use(s)
				c.EndLeases()
			},
			"": func(t *rapid.T) {
				again := open(d.afterPowerLoss())
				sameReads(t, c.Names, s.Memory(), again)
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			},
		}
		maps.Copy(actions, c.Actions(t))
		t.Repeat(actions)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
