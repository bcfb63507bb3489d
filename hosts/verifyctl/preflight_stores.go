// What preflight says about a database, a folder and uploads.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
)

// oldestVersion is the oldest PostgreSQL on which the store is tested.
const oldestVersion = 130000

// database examines the server and the role, and opens the database if its schema is current.
func (c preflight) database(ctx context.Context, s *session) ([]finding, held) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	has := held{close: func() error { return nil }}
	rest := warning("database", "what it has was not checked: webhooks, the ledger, what fits the bootstrap file", "look again after the start or the repair")
	f, err := pgschema.Examine(ctx, c.DatabaseURL, c.Migrate == "auto", s.clock.Now)
	if err != nil {
		return []finding{unreachable(err), warning("clock", "not compared", "repair the connection first"), rest}, has
	}
	has.live = f.Hosts > 0
	lacking := strings.Join(f.Lacking[:min(len(f.Lacking), 5)], ", ")
	found := []finding{
		transit(f),
		judged("server", f.Version >= oldestVersion, "PostgreSQL "+f.ServerVersion, healthFail,
			"PostgreSQL "+f.ServerVersion+" is older than 13", "upgrade the server"),
		ok("extensions", "none is needed"),
		judged("encoding", f.Encoding == "UTF8", "UTF8", healthFail, "the database has the encoding "+f.Encoding, "create it with ENCODING 'UTF8'"),
		judged("writes", !f.ReadOnly, "the server takes writes", healthFail, "the server is a standby, or the database is read-only",
			"use the URL of the primary; target_session_attrs=read-write finds it among several hosts"),
		judged("durability", f.Lossy == "", "a crash loses nothing", healthWarn, "a crash may lose what was accepted; off: "+f.Lossy,
			"turn them on; hosts turn synchronous_commit on for themselves"),
		judged("role", !f.BypassesRLS, "row-level security applies", healthWarn, "the role bypasses row-level security",
			"use a role without SUPERUSER and BYPASSRLS"),
		judged("rights", lacking == "", "the role has what --migrate="+c.Migrate+" needs", healthFail,
			fmt.Sprintf("%d are missing, first %s", len(f.Lacking), lacking), "grant them; a host with --migrate=never needs fewer"),
		skew(pgadmin.Health{ClockSkew: f.ClockSkew}), c.room(f),
	}
	if lacking != "" {
		return append(found, rest), has
	}
	found = append(found, judged("schema", f.Foreign == "", "no other program has it", healthFail, "another program has the schema verifyd, with "+f.Foreign,
		"use another database, or rename that schema"))
	steps, err := s.server.migrations(ctx, c.DatabaseURL)
	if err != nil {
		return append(found, unreachable(err), rest), has
	}
	schema := migrated(steps)
	if pending := len(missing(steps)) > 0; pending || schema.Status == healthFail {
		if pending && c.Migrate == "auto" && !slices.ContainsFunc(steps, func(m pgschema.Migration) bool { return m.Differs }) {
			schema, rest.Status = ok(schema.Check, "the start applies what is "+schema.Message), healthOK
		}
		return append(found, schema, rest), has
	}
	found = append(found, schema)
	db, err := s.server.open(ctx, c.DatabaseURL)
	if err != nil {
		return append(found, unreachable(err), rest), has
	}
	has.store, has.close = db, db.close
	return found, has
}

// transit says how the connection reaches the server.
func transit(f pgschema.Fitness) finding {
	const check, advice = "connection", "add sslmode=verify-full to the URL"
	switch {
	case f.Verified:
		return ok(check, "encrypted, with a server whose certificate is verified")
	case f.Local:
		return ok(check, "with a server on this machine")
	case f.Encrypted:
		return warning(check, "encrypted, but the certificate of the server is not verified", advice)
	}
	return warning(check, "in clear text, with another machine", advice)
}

// room compares the connections that hosts need with those that the server has.
func (c preflight) room(f pgschema.Fitness) finding {
	message := fmt.Sprintf("%d for each of %d hosts with this one, and %d of other roles, of %d", c.DatabaseConns, f.Hosts+1, f.Others, f.MaxConnections)
	const check, advice = "connections", "lower VERIFYD_DATABASE_CONNS of the hosts, or raise max_connections of the server"
	if c.DatabaseConns+f.Others > f.MaxConnections {
		return failed(check, message, advice)
	}
	return judged(check, (f.Hosts+1)*c.DatabaseConns+f.Others <= f.MaxConnections, message, healthWarn, message, advice)
}

// folder examines the data folder.
func (c preflight) folder(ctx context.Context) ([]finding, held) {
	const check = "journal"
	has := held{close: func() error { return nil }}
	found := []finding{c.place("folder", string(c.DataDir))}
	if _, err := os.Stat(string(c.DataDir)); errors.Is(err, fs.ErrNotExist) {
		return append(found, ok(check, "the first start makes it")), has
	}
	_, others, err := c.DataDir.Create() // a folder that is there stays as it is
	found = append(found, checked("owner", err, "no data of another user", "change the owner, or run this command as the user of the host"))
	if others != "" {
		found = append(found, warning("mode", others, ""))
	}
	if err := journal.Held(c.DataDir.Journal()); errors.Is(err, journal.ErrHeld) {
		has.live = true
		found = append(found, warning("host", pgerror.Explain(err).Error(), "it must stop before another one starts"))
	} else {
		found = append(found, checked("host", err, "no host has the folder", "use a local disk, as the user of the host"))
	}
	if _, err := os.Stat(c.DataDir.Journal()); errors.Is(err, fs.ErrNotExist) && !c.DataDir.Used() {
		return append(found, ok(check, "the first start makes it")), has
	}
	r, err := operator.Check(ctx, c.DataDir)
	if err == nil && len(r.Damage) > 0 {
		err = fmt.Errorf("%s cannot be read at offset %d: %s", r.Damage[0].File, r.Damage[0].Offset, r.Damage[0].Reason)
	}
	if err == nil {
		has.store = r.Memory
	}
	advice := "see verifyctl store check " + string(c.DataDir) + ", and restore a backup"
	return append(found, checked(check, err, fmt.Sprintf("all can be read, runs: %d", r.Runs), advice)), has
}

// place reports whether a folder can be written and locked, and has its reserve. A folder that is missing is not made.
func (c preflight) place(check, dir string) finding {
	disk, err := probe(dir)
	if err != nil {
		return failed(check, fmt.Sprintf("the user %d cannot use %s: %v", os.Geteuid(), dir, err), "let the user write it, or choose another folder")
	}
	reserve := disk.Reserve(c.DiskReserve)
	message := fmt.Sprintf("%s can be written, and %s are free of a reserve of %s", dir, mebibytes(disk.Free), mebibytes(reserve))
	return judged(check, disk.Free >= reserve, message, healthFail, message+": new runs and uploads get 503",
		"free some space, enlarge the disk, or lower "+cli.Setting("disk-reserve"))
}

// probe writes, locks and removes a file in a folder, or in the nearest one above it that is there, and returns its disk.
func probe(dir string) (datadir.Disk, error) {
	at := filepath.Clean(dir)
	for _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); _, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".preflight-*")
	if err != nil {
		return datadir.Disk{}, err
	}
	_, err = f.WriteString("written by verifyctl preflight")
	err = errors.Join(err, f.Sync(), syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), f.Close(), os.Remove(f.Name()))
	if err != nil {
		return datadir.Disk{}, err
	}
	return datadir.DiskOf(at)
}

// uploads examines the folder or the bucket of uploads, and the ledger of erasures there.
func (c preflight) uploads(ctx context.Context, s *session, has held) []finding {
	const check, whole = "uploads", "ledger of erasures"
	var found finding
	var ledger verification.ErasureLedger
	switch {
	case c.S3Endpoint != "":
		o := s3.Options{
			Endpoint: c.S3Endpoint, Bucket: c.S3Bucket, Region: c.S3Region, AccessKey: c.S3AccessKey, SecretKey: c.S3SecretKey, Secure: true, Timeout: c.S3Timeout,
		}
		if s.roots != nil {
			o.Transport = transport.New(transport.Options{Timeout: reachTimeout, AllowPrivateNetworks: true, Roots: s.roots})
		}
		bucket, err := s3.New(o)
		if err == nil {
			err = probeBucket(ctx, bucket)
		}
		ledger = bucket
		found = checked(check, err, "an object could be written to the bucket, read and removed", "check the settings of S3, the bucket and the rights of the key")
	case c.BlobDir != "":
		found, ledger = c.place(check, c.BlobDir), blob.LedgerFile(filepath.Join(c.BlobDir, ".erasures.jsonl"))
	case c.DataDir != "":
		found, ledger = c.place(check, c.DataDir.Documents()), blob.LedgerFile(c.DataDir.Erasures())
	case c.Memory:
		return []finding{ok(check, "they are in memory")}
	default:
		return []finding{warning(check, "they are in the memory of one host, and there is no ledger of erasures", "set VERIFYD_BLOB_DIR or VERIFYD_S3_ENDPOINT")}
	}
	if has.store == nil || found.Status == healthFail {
		return []finding{found, ok(whole, "not checked: the store or the uploads cannot be read, or do not exist yet")}
	}
	n, err := engine.CheckLedger(ctx, store.Tables{RowStore: has.store}, ledger)
	return []finding{found, checked(whole, err, fmt.Sprintf("whole, entries: %d", n), "look for the whole ledger: no host starts without it")}
}

// probeBucket writes a document that belongs to no run, reads it and removes it.
func probeBucket(ctx context.Context, bucket s3.Store) error {
	nobody := uuid.Nil.String()
	run, id := verification.RunRef{Tenant: verification.TenantID(nobody), Run: verification.RunID(nobody)}, uuid.NewString()
	probe := verification.Document{ID: id, MediaType: "text/plain"}
	if _, err := bucket.SaveDocument(ctx, run, probe, strings.NewReader("written by verifyctl preflight")); err != nil {
		return err
	}
	content, err := bucket.OpenDocument(ctx, run, id)
	if err == nil {
		_, err = io.Copy(io.Discard, content)
		err = errors.Join(err, content.Close())
	}
	return errors.Join(err, bucket.RemoveDocument(ctx, run, id))
}
