package main

import (
	"errors"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/storereads"
	"github.com/verifyd/verifyd/verification/store"
)

// copies is a world with data folders and an empty database.
type copies struct {
	*world

	dir string // of the folders
	url string
}

const (
	copiedKeys      = `{"keys":[]}`
	copiedSearchKey = "a search key of at least thirty-two bytes"
)

// onCopies returns a world with a data folder DIR/a, whose journal has a record of every kind.
func onCopies(t *testing.T) copies {
	t.Helper()
	c := copies{onMemory(t), t.TempDir(), pgtest.Database(t)}
	c.clock, c.server = clock.NewManual(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)), postgresServer()
	c.env["VERIFYD_DATABASE_URL"] = c.url
	a := c.folder("a")
	if err := os.CopyFS(a.Journal(), os.DirFS("../../internal/memory/journal/testdata/v2")); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		a.SigningKeys(): copiedKeys + "\n", a.SearchKey(): copiedSearchKey + "\n",
		a.AppliedFiles(): `[{"Hash":"b","Names":"{}","AppliedAt":"2026-03-01T09:00:00Z"},{"Hash":"a","Names":"{}","AppliedAt":"2026-03-01T08:00:00Z"}]`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c copies) folder(name string) datadir.Folder { return datadir.Folder(filepath.Join(c.dir, name)) }

// copy runs store copy, in which URL and DIR have their values.
func (c copies) copy(args string) string {
	c.t.Helper()
	return c.ctl("store copy " + strings.NewReplacer("URL", c.url, "DIR", c.dir).Replace(args))
}

// transcript returns the transcript with URL and DIR in place of their values.
func (c copies) transcript() []byte {
	c.t.Helper()
	config, err := pgx.ParseConfig(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	name := "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
	text := strings.NewReplacer(c.url, "URL", name, "DATABASE", c.dir, "DIR").Replace(string(c.world.transcript()))
	return []byte(regexp.MustCompile(`process \d+ on \S+`).ReplaceAllString(text, "process 1 on h"))
}

func (c copies) read(file string) string {
	c.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(raw)
}

// segments returns the files of the journal of a folder.
func (c copies) segments(folder string) []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.folder(folder).Journal(), "*.*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

func TestAFolderIsCopiedToPostgreSQLAndBack(t *testing.T) {
	c := onCopies(t)
	before := c.segments("a")
	c.copy("--from DIR/a --to URL")
	if after := c.segments("a"); !slices.Equal(after, before) {
		t.Errorf("the copy changed the files of the source from %v to %v", before, after)
	}
	c.copy("--from DIR/a --to URL")
	c.copy("--from URL --to DIR/b")
	c.env["VERIFYD_SEARCH_KEY"] = "another search key of thirty-two bytes"
	c.copy("--from URL --to DIR/c")
	if _, err := os.Stat(string(c.folder("c"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat = %v, want that a copy with a wrong key makes no folder", err)
	}
	c.env["VERIFYD_SEARCH_KEY"] = copiedSearchKey
	c.copy("--from URL --to DIR/c --json")
	c.copy("--from DIR/a --to DIR/d")
	golden.Equal(t, "testdata/talks/store-copy.txt", c.transcript())
	a, back := c.folder("a"), c.folder("c")
	for of, in := range map[string]string{a.SigningKeys(): back.SigningKeys(), a.SearchKey(): back.SearchKey()} {
		if want, got := c.read(of), c.read(in); got != want {
			t.Errorf("%s has %q, want %q", in, got, want)
		}
	}
}

func TestACopyRefusesWhatItWouldMix(t *testing.T) {
	c := onCopies(t)
	c.copy("--from DIR/none --to URL")
	c.copy("--from DIR/a")
	c.copy("--from DIR/a --to DIR/./a")
	c.copy("--from URL --to URL")
	source, err := openFolderSide(t.Context(), c.folder("a"), journal.Options{OpenedAt: c.clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	c.copy("--from DIR/a --to URL")
	if err := source.close(); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), c.url, postgres.Options{SingleHost: true, Copying: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	host := postgres.Host{ID: "00000000-0000-7000-8000-000000000001", Name: "one", StartedAt: time.Now()}
	if err := db.SaveHost(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	c.copy("--from DIR/a --to URL")
	c.copy("--from URL --to DIR/new")
	if _, err := os.Stat(string(c.folder("new"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat = %v, want that a refused copy makes no folder", err)
	}
	if err := db.RemoveHost(t.Context(), host.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SigningKeys(t.Context(), func() ([]byte, error) { return []byte(`{"keys":[1]}`), nil }); err != nil {
		t.Fatal(err)
	}
	c.copy("--from DIR/a --to URL")
	c.ctl("tenant list") // the database has a part of the copy
	c.ctl("doctor")
	c.copy("--from URL --to DIR/b")
	if err := db.SetUnfinishedCopy(t.Context(), "postgres://elsewhere"); err != nil {
		t.Fatal(err)
	}
	c.copy("--from DIR/a --to URL")
	golden.Equal(t, "testdata/talks/store-copy-refused.txt", c.transcript())
}

// TestAKilledCopyIsContinued kills the command again and again, until it ends.
func TestAKilledCopyIsContinued(t *testing.T) {
	const runs = 1500
	c := copies{onMemory(t), t.TempDir(), pgtest.Database(t)}
	want := memory.New()
	storereads.Fill(t, want, runs)
	a, err := openTarget(t.Context(), string(c.folder("a")), time.Now(), 0)
	if err == nil {
		_, err = storecopy.Copy(t.Context(), want, a, storecopy.Options{Source: "memory", Now: time.Now()})
	}
	if err == nil {
		err = a.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][2]string{{string(c.folder("a")), c.url}, {c.url, string(c.folder("b"))}} {
		wait, kills := 100*time.Millisecond, 0
		for ; ; wait += wait / 3 {
			p, stderr := program(t, "store", "copy", "--from", path[0], "--to", path[1])
			select {
			case <-p.Ended():
			case <-time.After(wait):
				_ = p.Cmd.Process.Kill() // unless it has just ended
				<-p.Ended()
				kills++
				continue
			}
			if p.Err() != nil {
				t.Fatalf("after %d kills: %v\n%s", kills, p.Err(), stderr)
			}
			break
		}
		if kills < 3 {
			t.Errorf("the copy was killed %d times: is it too short?", kills)
		}
		to, err := openSource(t.Context(), path[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range store.RecordKinds() {
			next, stop := iter.Pull2(to.Records(t.Context(), kind))
			for wanted, failed := range want.Records(t.Context(), kind) {
				if failed != nil {
					t.Fatal(failed)
				}
				if got, err, _ := next(); err != nil || !cmp.Equal(wanted, got, cmpopts.EquateEmpty()) {
					t.Fatalf("after %d kills: %v (-want +got):\n%s", kills, err, cmp.Diff(wanted, got, cmpopts.EquateEmpty()))
				}
			}
			if got, err, more := next(); more {
				t.Fatalf("after %d kills: one more record: %v, %v", kills, got, err)
			}
			stop()
		}
		if err := to.close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d kills", kills)
	}
}
