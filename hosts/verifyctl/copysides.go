// The source and the target of a copy: data folders and databases.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// copySide is a data folder or a database.
type copySide struct {
	storecopy.Target
	lists interface {
		List(ctx context.Context, t verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error)
	}
	keys   copyKeys
	files  bootstrap.Ledger
	name   string         // for people
	folder datadir.Folder // empty for a database

	database *postgres.Store                                   // nil for a folder
	known    int                                               // how many runs a backup says that it has
	hosts    func(ctx context.Context) ([]pgadmin.Host, error) // nil for a folder, which is locked
	level    int                                               // of the store
	close    func() error
}

// copyKeys are the keys beside a store.
type copyKeys interface {
	// signing returns the signing keys; nil if there are none.
	signing(ctx context.Context) ([]byte, error)
	// keepSigning saves the signing keys unless there are some, and returns those that are kept.
	keepSigning(ctx context.Context, keys []byte) ([]byte, error)
	// search returns the search key, nil if it is not known, and its check, empty for none.
	search(ctx context.Context) (key []byte, check string, err error)
	// keepSearch saves the search key or its check unless there is one, and returns the check
	// that is kept, empty for none. The key may be nil.
	keepSearch(ctx context.Context, key []byte, check string) (string, error)
}

func openSource(ctx context.Context, name string) (*copySide, error) {
	if isURL(name) {
		return openDatabaseSide(ctx, name, false)
	}
	folder := datadir.Folder(name)
	if err := operator.Examine(folder); err != nil {
		return nil, err
	}
	if err := folder.Check(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	m, level, release, err := journal.Read(ctx, folder.Journal(), folder.Used())
	if err != nil {
		return nil, endHost(err)
	}
	return &copySide{
		Target: m, lists: m, keys: folderKeys{folder}, files: operator.Hold(folder, nil, operator.Host{}), name: path, folder: folder,
		level: level, close: release,
	}, nil
}

// openTarget opens a database, or a folder, which has the level of its source if it is new.
func openTarget(ctx context.Context, name string, now time.Time, level int) (*copySide, error) {
	if isURL(name) {
		return openDatabaseSide(ctx, name, true)
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: must be a folder or a database", name)
	}
	folder, o := datadir.Folder(name), journal.Options{OpenedAt: now, Copying: true}
	if _, err := os.Stat(folder.Journal()); errors.Is(err, fs.ErrNotExist) {
		o.Level = level
	}
	return openFolderSide(ctx, folder, o)
}

// sameFolder reports whether two names are of one folder or file that exists.
func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// sameDatabase reports whether two URLs are of one database, as far as the URLs tell.
func sameDatabase(a, b string) bool {
	if !isURL(a) || !isURL(b) {
		return false
	}
	first, err := pgx.ParseConfig(a)
	if err != nil { // it is told when the database is opened
		return false
	}
	second, err := pgx.ParseConfig(b)
	return err == nil && first.Host == second.Host && first.Port == second.Port && first.Database == second.Database
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

func openFolderSide(ctx context.Context, folder datadir.Folder, o journal.Options) (*copySide, error) {
	name, err := filepath.Abs(string(folder))
	if err != nil {
		return nil, err
	}
	held, err := operator.Take(ctx, folder, o)
	if err != nil {
		return nil, endHost(err)
	}
	return &copySide{
		Target: held, lists: held, keys: folderKeys{folder}, files: held, name: name, folder: folder, level: held.Level(), close: held.Close,
	}, nil
}

// endHost says what to do if a host has the folder.
func endHost(err error) error {
	if errors.Is(err, journal.ErrHeld) {
		err = fmt.Errorf("%w: end the host", err)
	}
	return err
}

func openDatabaseSide(ctx context.Context, url string, copying bool) (*copySide, error) {
	s, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 8, SingleHost: true, Copying: copying})
	if err != nil {
		return nil, pgerror.Explain(err)
	}
	config := s.Pool().Config().ConnConfig
	admin := pgadmin.Of(s)
	return &copySide{
		Target: s, lists: s, keys: databaseKeys{s}, files: admin, database: s,
		name:  "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database,
		hosts: admin.Hosts, level: s.Level(),
		close: func() error {
			s.Close()
			return nil
		},
	}, nil
}

// refuseHosts returns ErrConflict while hosts run on a database.
func (c *copySide) refuseHosts(ctx context.Context) error {
	if c.hosts == nil {
		return nil
	}
	all, err := c.hosts(ctx)
	for _, h := range all {
		if h.Alive {
			return verification.Conflict(c.name, fmt.Sprintf("the host %s is alive: end all hosts first; a host that was killed counts as alive for %s", h.Name, pgschema.HostTimeout))
		}
	}
	return err
}

// runs returns the number of runs of all tenants.
func (c *copySide) runs(ctx context.Context, now time.Time) (n int, err error) {
	if c.lists == nil {
		return c.known, nil
	}
	tenants, err := store.Tables{RowStore: c}.Tenants(ctx)
	for _, t := range tenants {
		p, err := c.lists.List(ctx, t.ID, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: now})
		if err != nil {
			return 0, err
		}
		n += p.Total
	}
	return n, err
}

// left says what was not copied.
func (c *copySide) left(to *copySide) []string {
	var left []string
	switch {
	case c.folder != "" && to.folder != "":
		left = append(left, "documents are not copied: copy "+c.folder.Documents()+" to "+to.folder.Documents())
	case c.folder != "":
		left = append(left,
			"documents are not copied: start the hosts with VERIFYD_BLOB_DIR="+c.folder.Documents()+", or copy that folder to where they have it",
			"set VERIFYD_SEARCH_KEY_FILE="+c.folder.SearchKey()+" on the hosts: without that key no run is found by a person")
	case to.folder != "":
		left = append(left, "documents are not copied: copy the folder VERIFYD_BLOB_DIR of the hosts to "+to.folder.Documents()+", or keep the settings of the hosts")
		if _, err := os.Stat(to.folder.SearchKey()); err != nil {
			left = append(left, "set VERIFYD_SEARCH_KEY as the hosts have it: without that key no run is found by a person")
		}
	}
	return left
}

// next says how a host is started with the copy.
func (c *copySide) next() string {
	if c.folder != "" {
		return "start the host with VERIFYD_DATA_DIR=" + string(c.folder) + ", and no host with the source"
	}
	return "start the hosts with VERIFYD_DATABASE_URL, and no host with the source"
}

// folderKeys are the keys in files of a data folder.
type folderKeys struct{ datadir.Folder }

// readIfThere returns the content of a file; nil if there is none.
func readIfThere(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func (f folderKeys) signing(context.Context) ([]byte, error) { return readIfThere(f.SigningKeys()) }

func (f folderKeys) keepSigning(_ context.Context, keys []byte) ([]byte, error) {
	return datadir.Keep(f.SigningKeys(), func() ([]byte, error) { return append(keys, '\n'), nil })
}

func (f folderKeys) search(context.Context) (key []byte, check string, err error) {
	text, err := cli.ReadValue(f.SearchKey())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return []byte(text), cli.SearchCheck([]byte(text)), nil
}

func (f folderKeys) keepSearch(ctx context.Context, key []byte, _ string) (string, error) {
	if key != nil {
		if _, err := datadir.Keep(f.SearchKey(), func() ([]byte, error) { return append(key, '\n'), nil }); err != nil {
			return "", err
		}
	}
	_, check, err := f.search(ctx)
	return check, err
}

// databaseKeys are the keys that the hosts of a database share.
type databaseKeys struct{ *postgres.Store }

// errNone is returned instead of a generated value.
var errNone = errors.New("there is none")

func (d databaseKeys) signing(ctx context.Context) ([]byte, error) {
	raw, err := d.SigningKeys(ctx, func() ([]byte, error) { return nil, errNone })
	if errors.Is(err, errNone) {
		return nil, nil
	}
	return raw, err
}

func (d databaseKeys) keepSigning(ctx context.Context, keys []byte) ([]byte, error) {
	return d.SigningKeys(ctx, func() ([]byte, error) { return keys, nil })
}

func (d databaseKeys) search(ctx context.Context) (key []byte, check string, err error) {
	check, err = d.SearchCheck(ctx, "")
	return nil, check, err
}

func (d databaseKeys) keepSearch(ctx context.Context, _ []byte, check string) (string, error) {
	return d.SearchCheck(ctx, check)
}
