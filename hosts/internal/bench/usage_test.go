// The use of resources: commits, log and processor time.

package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// usage is the use since the start of the server, or in some time.
type usage struct {
	commits int64         // transactions that wrote
	log     int64         // bytes of write-ahead log
	host    time.Duration // processor time, as the next two
	server  time.Duration // all processes of PostgreSQL
	machine time.Duration // all processes
	took    time.Duration
}

func (u usage) minus(v usage) usage {
	return usage{
		commits: u.commits - v.commits, log: u.log - v.log,
		host: u.host - v.host, server: u.server - v.server, machine: u.machine - v.machine,
		took: u.took - v.took,
	}
}

func (u usage) plus(v usage) usage { return u.minus(usage{}.minus(v)) }

// others returns the fraction of all processor time that neither the host nor the
// server used.
func (u usage) others() float64 {
	return float64(u.machine-u.host-u.server) / float64(u.took) / float64(runtime.NumCPU())
}

// used returns the use until now. A transaction gets an id when it first writes, so
// ids count the commits exactly and without delay, unlike the statistics of the
// server. They include autovacuum and the jobs of the hosts.
func (p database) used(b *testing.B) usage {
	b.Helper()
	u := usage{took: time.Duration(time.Now().UnixNano())}
	const meters = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
		pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, pg_backend_pid()`
	var backend int
	if err := p.admin.QueryRow(b.Context(), meters).Scan(&u.commits, &u.log, &backend); err != nil {
		b.Fatal(err)
	}
	u.host = hostCPU(b)
	if runtime.GOOS != "linux" {
		return u // only Linux has /proc
	}
	mine, err := readProcess(backend)
	if err != nil {
		b.Fatal(err)
	}
	if u.server, err = family(mine.parent); err != nil {
		b.Fatal(err)
	}
	if u.machine, err = machine(); err != nil {
		b.Fatal(err)
	}
	return u
}

// hostCPU returns the processor time of this process until now.
func hostCPU(b *testing.B) time.Duration {
	b.Helper()
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano())
}

// ticks are the unit of time in /proc, a hundredth of a second.
func ticks(n int64) time.Duration { return time.Duration(n) * 10 * time.Millisecond }

// kin is a process in /proc.
type kin struct {
	parent int
	own    time.Duration // of the process itself
	gone   time.Duration // of its ended children
}

// readProcess parses "pid (name) state parent ..."; the name may contain anything.
func readProcess(pid int) (kin, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return kin{}, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return kin{}, fmt.Errorf("read process %d: %q", pid, stat)
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		return n
	}
	return kin{int(number(1)), ticks(number(11) + number(12)), ticks(number(13) + number(14))}, nil
}

// family returns the processor time of a process and of its live and ended children.
func family(parent int) (time.Duration, error) {
	head, err := readProcess(parent)
	if err != nil {
		return 0, err
	}
	sum := head.own + head.gone
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if k, err := readProcess(pid); err == nil && k.parent == parent {
			sum += k.own
		}
	}
	return sum, nil
}

// machine returns the processor time of all processes: user, nice, system, irq,
// softirq and steal.
func machine() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat[:bytes.IndexByte(stat, '\n')])
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		if i < len(fields) {
			n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
			sum += ticks(n)
		}
	}
	return sum, nil
}
