// What is used up: commits, log, and the processors' time.

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

// usage is what was used, since the server began or in some time.
type usage struct {
	commits int64         // transactions that wrote
	log     int64         // bytes of write-ahead log
	host    time.Duration // of processor, as the next two
	server  time.Duration // all processes of PostgreSQL
	machine time.Duration // everybody
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

// others is the part of all processors that neither the host nor the server had.
func (u usage) others() float64 {
	return float64(u.machine-u.host-u.server) / float64(u.took) / float64(runtime.NumCPU())
}

// used reads the meters. A transaction is given a number when it first writes:
// the numbers count the commits, exactly and at once, which the server's own
// statistics do not. Autovacuum and the jobs of the fleet are among them.
func (p place) used(b *testing.B) usage {
	b.Helper()
	u := usage{took: time.Duration(time.Now().UnixNano())}
	const meters = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
		pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, pg_backend_pid()`
	var backend int
	if err := p.admin.QueryRow(b.Context(), meters).Scan(&u.commits, &u.log, &backend); err != nil {
		b.Fatal(err)
	}
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	u.host = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	if runtime.GOOS != "linux" {
		return u // nobody else tells what other processes use
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

// ticks are a time in the unit of /proc, of which a second has a hundred.
func ticks(n int64) time.Duration { return time.Duration(n) * 10 * time.Millisecond }

// kin is a process as /proc shows it.
type kin struct {
	parent int
	own    time.Duration // used by itself
	gone   time.Duration // by its children that have ended
}

// readProcess reads "pid (name) state parent ...": a name may hold anything.
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

// family is what a process, its children and those that have ended have used.
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

// machine is what all processes have used: user, nice, system, irq, softirq and
// what was stolen.
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
