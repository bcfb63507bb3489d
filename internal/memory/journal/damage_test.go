// Damage to the end of a journal: nothing that was acknowledged is lost without a word.

package journal_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/memory/journal"
)

// A scene is a folder before it is damaged.
type scene struct {
	disk    *fakeDisk
	earlier *fakeDisk // the same folder, some time before
	other   *fakeDisk // the folder of another journal with the same runs
	marked  int       // runs that were acknowledged before the last mark
	all     int       // runs that were acknowledged
}

// journalOf writes runs, some of them after the last mark, and stops cleanly or not.
func journalOf(t *testing.T, r *rand.Rand, clean, snapshot bool) (now, earlier *fakeDisk, marked, all int) {
	t.Helper()
	d := newFakeDisk()
	s, err := journal.OpenDisk(t.Context(), d, journal.Options{SegmentBytes: 2500})
	if err != nil {
		t.Fatal(err)
	}
	add := func(n int) {
		for range n {
			if err := startRun(t.Context(), s, all); err != nil {
				t.Fatal(err)
			}
			all++
		}
	}
	add(5 + r.IntN(4))
	if snapshot {
		if err := s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	add(1 + r.IntN(3))
	time.Sleep(2 * time.Second) //nolint:forbidigo // the clock of synctest: the mark is written
	earlier = d.afterPowerLoss()
	add(2 + r.IntN(3))
	time.Sleep(2 * time.Second) //nolint:forbidigo // the clock of synctest
	if marked = all; clean {
		closed(t, s)
		return d.afterPowerLoss(), earlier, marked, all
	}
	if r.IntN(2) == 0 {
		add(1)
	}
	now = d.afterKill()
	if r.IntN(2) == 0 {
		now = d.afterPowerLoss()
	}
	closed(t, s)
	return now, earlier, marked, all
}

// journalFiles returns the names of the snapshot and the segments, in their order.
func journalFiles(d *fakeDisk) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if strings.HasSuffix(name, ".journal") || strings.HasSuffix(name, ".snapshot") {
			names = append(names, name)
		}
	}
	return names
}

// tornBytes returns the size of the ends that a start has kept.
func tornBytes(d *fakeDisk) (n int64) {
	for name, f := range d.files {
		if strings.HasPrefix(name, "torn-") {
			n += int64(len(f.data))
		}
	}
	return n
}

// damages are the classes of damage.
func damages() map[string]func(s scene, r *rand.Rand) {
	change := func(f func(raw []byte, r *rand.Rand) []byte) func(scene, *rand.Rand) {
		return func(s scene, r *rand.Rand) {
			names := journalFiles(s.disk)
			name := names[max(0, len(names)-1-r.IntN(3))]
			s.disk.put(name, f(slices.Clone(s.disk.files[name].data), r))
		}
	}
	frames := func(f func(all [][]byte, at int) [][]byte) func(scene, *rand.Rand) {
		return change(func(raw []byte, r *rand.Rand) []byte {
			var all [][]byte
			for _, f := range journal.Frames(raw) {
				all = append(all, raw[f.Offset:f.Offset+f.Size])
			}
			return bytes.Join(f(all, r.IntN(len(all))), nil)
		})
	}
	// file changes one file of the newest three.
	file := func(f func(s scene, name string)) func(scene, *rand.Rand) {
		return func(s scene, r *rand.Rand) {
			names := journalFiles(s.disk)
			f(s, names[max(0, len(names)-1-r.IntN(3))])
		}
	}
	return map[string]func(scene, *rand.Rand){
		"cut anywhere":      change(func(raw []byte, r *rand.Rand) []byte { return raw[:r.IntN(len(raw))] }),
		"cut to half":       change(func(raw []byte, _ *rand.Rand) []byte { return raw[:len(raw)/2] }),
		"emptied":           change(func([]byte, *rand.Rand) []byte { return nil }),
		"converted to CRLF": change(func(raw []byte, _ *rand.Rand) []byte { return bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n")) }),
		"a page instead": change(func([]byte, *rand.Rand) []byte {
			return []byte("<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n")
		}),
		"a page from somewhere on": change(func(raw []byte, r *rand.Rand) []byte {
			return append(raw[:r.IntN(len(raw))], "<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n"...)
		}),
		"zeros from somewhere on": change(func(raw []byte, r *rand.Rand) []byte { clear(raw[r.IntN(len(raw)):]); return raw }),
		"zeros at the end":        change(func(raw []byte, r *rand.Rand) []byte { return append(raw, make([]byte, 1+r.IntN(9000))...) }),
		"a block of zeros": change(func(raw []byte, r *rand.Rand) []byte {
			at := r.IntN(len(raw))
			clear(raw[at:min(len(raw), at+512)])
			return raw
		}),
		"a bit": change(func(raw []byte, r *rand.Rand) []byte { raw[r.IntN(len(raw))] ^= 1 << r.IntN(8); return raw }),
		"many bits": change(func(raw []byte, r *rand.Rand) []byte {
			for range 40 {
				raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
			}
			return raw
		}),
		"random bytes": change(func(raw []byte, r *rand.Rand) []byte {
			for i := range raw {
				raw[i] = byte(r.Uint32())
			}
			return raw
		}),
		"a record removed":        frames(func(all [][]byte, at int) [][]byte { return slices.Delete(all, at, at+1) }),
		"the last record removed": frames(func(all [][]byte, _ int) [][]byte { return all[:len(all)-1] }),
		"a record doubled":        frames(func(all [][]byte, at int) [][]byte { return slices.Insert(all, at, all[at]) }),
		"records exchanged": frames(func(all [][]byte, at int) [][]byte {
			all[at], all[(at+1)%len(all)] = all[(at+1)%len(all)], all[at]
			return all
		}),
		"a record moved to the end": frames(func(all [][]byte, at int) [][]byte {
			return append(slices.Delete(slices.Clone(all), at, at+1), all[at])
		}),
		"file removed": file(func(s scene, name string) { delete(s.disk.files, name) }),
		"file of another journal": file(func(s scene, name string) {
			if f := s.other.files[name]; f != nil {
				s.disk.put(name, f.data)
			} else {
				delete(s.disk.files, name)
			}
		}),
		"file as it was before": file(func(s scene, name string) {
			if f := s.earlier.files[name]; f != nil {
				s.disk.put(name, f.data)
			} else {
				delete(s.disk.files, name)
			}
		}),
		"files exchanged": func(s scene, r *rand.Rand) {
			names := journalFiles(s.disk)
			i := r.IntN(len(names) - 1)
			a, b := s.disk.files[names[i]].data, s.disk.files[names[i+1]].data
			s.disk.put(names[i], b)
			s.disk.put(names[i+1], a)
		},
		"all files removed": func(s scene, _ *rand.Rand) { clear(s.disk.files) },
		"all but the mark removed": func(s scene, _ *rand.Rand) {
			for _, name := range journalFiles(s.disk) {
				delete(s.disk.files, name)
			}
		},
		"mark removed": func(s scene, _ *rand.Rand) { delete(s.disk.files, journal.EndFile) },
		"mark emptied": func(s scene, _ *rand.Rand) { s.disk.put(journal.EndFile, nil) },
		"mark of another journal": func(s scene, _ *rand.Rand) {
			s.disk.put(journal.EndFile, s.other.files[journal.EndFile].data)
		},
		"mark as it was before": func(s scene, _ *rand.Rand) {
			s.disk.put(journal.EndFile, s.earlier.files[journal.EndFile].data)
		},
		"a bit of the mark": func(s scene, r *rand.Rand) {
			raw := slices.Clone(s.disk.files[journal.EndFile].data)
			raw[r.IntN(2)*4096+r.IntN(150)] ^= 1 << r.IntN(8)
			s.disk.put(journal.EndFile, raw)
		},
	}
}

func TestDamageToTheEndIsNeverSilent(t *testing.T) {
	const seed, rounds = 71, 3
	t.Logf("seed %d", seed)
	type counts struct{ whole, refused, told int }
	for _, clean := range []bool{true, false} {
		table, total := map[string]*counts{}, 0
		for n, class := range slices.Sorted(maps.Keys(damages())) {
			table[class] = &counts{}
			for round := range 2 * rounds {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, uint64(1000*n+round)))
					where := fmt.Sprintf("%s, clean stop %t, round %d", class, clean, round)
					var s scene
					s.disk, s.earlier, s.marked, s.all = journalOf(t, r, clean, round%2 == 1)
					s.other, _, _, _ = journalOf(t, rand.New(rand.NewPCG(seed, uint64(1000*n+round))), clean, round%2 == 1)
					damages()[class](s, r)
					total++
					report, err := journal.CheckUsedDisk(t.Context(), s.disk.afterKill())
					if err != nil {
						t.Fatalf("%s: Check = %v", where, err)
					}
					var log bytes.Buffer
					again, err := journal.OpenDisk(t.Context(), s.disk, journal.Options{Used: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
					if (err != nil) != (len(report.Damage) > 0) {
						t.Errorf("%s: Open = %v, and Check finds %+v", where, err, report.Damage)
					}
					if err != nil {
						table[class].refused++
						return
					}
					defer closed(t, again)
					if kept := tornBytes(s.disk); kept != report.TornBytes {
						t.Errorf("%s: %d bytes are kept beside the journal, and Check finds %d", where, kept, report.TornBytes)
					}
					got := runs(t, again)
					switch {
					case got >= s.all:
						table[class].whole++
					case got >= s.marked && report.TornBytes > 0 && strings.Contains(log.String(), "cannot be read"):
						table[class].told++
					case got >= s.marked && strings.Contains(log.String(), "what is newer as far as it reached the disk"):
						table[class].told++
					default:
						t.Errorf("%s: %d of %d runs (%d before the mark), and nothing says so; the log is\n%s", where, got, s.all, s.marked, &log)
					}
				})
			}
		}
		var lines strings.Builder
		for _, class := range slices.Sorted(maps.Keys(table)) {
			c := table[class]
			fmt.Fprintf(&lines, "\n%-28s %5d %8d %6d", class, c.whole, c.refused, c.told)
		}
		t.Logf("clean stop: %t; %d cases\n%-28s %5s %8s %6s%s", clean, total, "damage", "whole", "refused", "told", &lines)
	}
}

// forkOf returns a folder, and what became of a copy of it whose host went on with other runs. Both
// have their own segments from the number fork on.
func forkOf(t *testing.T) (ours, theirs *fakeDisk, fork, last int) {
	t.Helper()
	ours = newFakeDisk()
	write := func(d *fakeDisk, from int) {
		s, err := journal.OpenDisk(t.Context(), d, journal.Options{SegmentBytes: 2500})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 6 {
			if err := startRun(t.Context(), s, from+n); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, s)
	}
	write(ours, 100)
	fork = len(journalFiles(ours)) + 1
	theirs = ours.afterKill()
	write(ours, 200)
	write(theirs, 300)
	return ours, theirs, fork, len(journalFiles(ours))
}

// Each check of a journal finds damage that it alone can name.
func TestDamageIsNamedByWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	segment := func(n int) string { return fmt.Sprintf("%010d.journal", n) }
	for name, test := range map[string]struct {
		damage func(ours, theirs *fakeDisk, fork, last int)
		want   string
	}{
		"a record doubled": {func(d, _ *fakeDisk, fork, _ int) {
			raw := d.files[segment(fork)].data
			second := journal.Frames(raw)[1]
			d.put(segment(fork), slices.Insert(slices.Clone(raw), second.Offset, raw[second.Offset:second.Offset+second.Size]...))
		}, "it does not follow from the record before it"},
		"the last record of a segment removed": {func(d, _ *fakeDisk, fork, _ int) {
			raw := d.files[segment(fork)].data
			all := journal.Frames(raw)
			d.put(segment(fork), raw[:all[len(all)-1].Offset])
		}, "the segment before it is cut"},
		"a segment of another journal": {func(d, _ *fakeDisk, fork, _ int) {
			other, _, _, _ := forkOf(t)
			d.put(segment(fork), other.files[segment(fork)].data)
		}, "it is of another journal"},
		"a segment of a copy that went on": {func(d, theirs *fakeDisk, fork, _ int) {
			d.put(segment(fork), theirs.files[segment(fork)].data)
		}, "it does not follow from the record before it"},
		"all segments of a copy that went on": {func(d, theirs *fakeDisk, fork, last int) {
			for n := fork; n <= last; n++ {
				d.put(segment(n), theirs.files[segment(n)].data)
			}
		}, "the file has other records than were on disk"},
		"a segment of an older build": {func(d, _ *fakeDisk, fork, _ int) {
			d.put(segment(fork), inVersion1(d.files[segment(fork)].data))
		}, "the checksum does not match"},
		"a whole journal of an older build": {func(d, _ *fakeDisk, fork, _ int) {
			old := inVersion1(d.files[segment(fork)].data)
			for _, name := range journalFiles(d) {
				delete(d.files, name)
			}
			d.put(segment(1), old)
		}, "the checksum does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, fork, last := forkOf(t)
			if last < fork+1 {
				t.Fatalf("the segments from %d to %d are too few", fork, last)
			}
			test.damage(ours, theirs, fork, last)
			report, err := journal.CheckUsedDisk(t.Context(), ours.afterKill())
			if err != nil || len(report.Damage) == 0 || !strings.Contains(report.Damage[0].Reason, test.want) {
				t.Errorf("Check = %+v, %v; want damage because %s", report, err, test.want)
			}
			if s, err := journal.OpenDisk(t.Context(), ours, journal.Options{}); err == nil {
				closed(t, s)
				t.Error("Open takes the journal")
			}
		})
	}
}

// A write that was interrupted leaves the beginning of one group, or zeros.
func TestAnEndThatNoWriteLeavesIsTold(t *testing.T) {
	t.Parallel()
	d := newFakeDisk()
	s, err := journal.OpenDisk(t.Context(), d, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := startRun(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
	}
	killed := d.afterKill() // within a second: the mark is older than the runs
	closed(t, s)
	names := journalFiles(killed)
	last := names[len(names)-1]
	raw := killed.files[last].data
	all := journal.Frames(raw)
	newest := all[len(all)-1].Offset
	for name, test := range map[string]struct {
		end     []byte
		foreign bool
	}{
		"the beginning of rows":            {journal.AppendFrame(nil, 26, 2, all[len(all)-1].Previous, `{"rows":[]}`)[:25], false},
		"the beginning of the last record": {raw[newest : len(raw)-10], false},
		"zeros":                            {make([]byte, 4096), false},
		"text":                             {bytes.Repeat([]byte("<html>"), 100), true},
		"the beginning of another record":  {raw[all[1].Offset : all[2].Offset-10], true},
	} {
		t.Run(name, func(t *testing.T) {
			killed.put(last, slices.Concat(raw[:newest], test.end))
			report, err := journal.CheckUsedDisk(t.Context(), killed.afterKill())
			if err != nil || report.TornBytes != int64(len(test.end)) || report.Foreign != test.foreign {
				t.Errorf("Check = %+v, %v; want a torn end of %d bytes, foreign %t", report, err, len(test.end), test.foreign)
			}
		})
	}
}

// Version 1 had neither marks nor running checksums.
func TestAJournalOfVersion1IsRefused(t *testing.T) {
	t.Parallel()
	ours, _, fork, _ := forkOf(t)
	for _, name := range []string{journal.SegmentName(1), journal.SnapshotName(3)} {
		d := newFakeDisk()
		d.put(name, inVersion1(ours.files[journal.SegmentName(fork)].data))
		_, failed := journal.OpenDisk(t.Context(), d, journal.Options{})
		_, checked := journal.CheckDisk(t.Context(), d)
		for of, err := range map[string]error{"Open": failed, "Check": checked} {
			if err == nil || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), "version 1") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %s = %v; want one line about version 1", of, name, err)
			}
		}
		if names, err := d.List(); err != nil || !slices.Equal(names, []string{name}) {
			t.Errorf("the folder has %v, %v afterwards; want only %s", names, err, name)
		}
	}
}

// inVersion1 returns the records of a segment in the form of version 1: without running checksums.
func inVersion1(segment []byte) (raw []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, f := range journal.Frames(segment) {
		header := slices.Clone(segment[f.Offset : f.Offset+14])
		header[13] = 1
		sum := crc32.Update(crc32.Update(crc32.Checksum(header[:4], table), table, header[8:]), table, []byte(f.Payload))
		binary.LittleEndian.PutUint32(header[4:], sum)
		raw = append(append(raw, header...), f.Payload...)
	}
	return raw
}
