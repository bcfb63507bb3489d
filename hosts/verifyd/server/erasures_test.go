// Tests of a host whose store was restored from before a redaction.

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

// TestARestoredStoreIsRedactedBeforeTheHostIsReady restores a folder, and a database, from before a redaction.
func TestARestoredStoreIsRedactedBeforeTheHostIsReady(t *testing.T) {
	for _, on := range []string{"folder", "postgres"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			more := map[string]string{}
			ledger := ""
			var backUp, restore func()
			switch on {
			case "folder":
				folder, backup := newFolder(t), t.TempDir()
				more["VERIFYD_DATA_DIR"], ledger = string(folder), folder.Erasures()
				backUp = func() { copyFolder(t, string(folder), backup) }
				restore = func() { // to another folder, with the ledger as it is
					to := filepath.Join(t.TempDir(), "restored")
					copyFolder(t, backup, to)
					raw, err := os.ReadFile(ledger)
					if err == nil {
						err = os.WriteFile(datadir.Folder(to).Erasures(), raw, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
					more["VERIFYD_DATA_DIR"] = to
				}
			case "postgres":
				address, blobs := pgtest.Database(t), t.TempDir()
				more["VERIFYD_DATABASE_URL"], more["VERIFYD_BLOB_DIR"], ledger = address, blobs, filepath.Join(blobs, ".erasures.jsonl")
				config, err := pgx.ParseConfig(address)
				if err != nil {
					t.Fatal(err)
				}
				admin, name := pgtest.Admin(t, address), config.Database
				maintenance := strings.Replace(admin, "/"+name, "/postgres", 1)
				run := func(statements ...string) {
					t.Helper()
					conn, err := pgx.Connect(t.Context(), maintenance)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = conn.Close(t.Context()) }()
					for _, s := range statements {
						if _, err := conn.Exec(t.Context(), s); err != nil {
							t.Fatalf("%s: %v", s, err)
						}
					}
				}
				backUp = func() { run("CREATE DATABASE " + name + "_backup TEMPLATE " + name) }
				restore = func() {
					run("ALTER DATABASE "+name+" RENAME TO "+name+"_lost", "CREATE DATABASE "+name+" TEMPLATE "+name+"_backup",
						"ALTER DATABASE "+name+" OWNER TO "+pgx.Identifier{config.User}.Sanitize(), "DROP DATABASE "+name+"_backup", "DROP DATABASE "+name+"_lost")
				}
			}
			vars, session := canarySettings(t, more)
			c := &canaryHost{served: serveHost(t, vars)}
			c.cookie = session(c.served)
			c.live()
			if err := c.end(); err != nil {
				t.Fatal(err)
			}
			backUp()
			serve := func() {
				t.Helper()
				for name, value := range more {
					vars[name] = value
				}
				old := c.api
				c.served = serveHost(t, vars)
				c.cookie, c.addresses, c.link = session(c.served), nil, strings.Replace(c.link, old, c.api, 1)
			}
			serve()
			c.served.run("POST", c.api+"/v1/runs/"+c.run+"/redact", "")
			within(t, 30*time.Second, "the ledger has the redaction", func() bool {
				raw, _ := os.ReadFile(ledger)
				return strings.Contains(string(raw), c.run)
			})
			if err := c.end(); err != nil {
				t.Fatal(err)
			}
			restore()
			serve()
			for at, answer := range c.everyAnswer() {
				if found := canaryIn(answer); found != "" {
					t.Errorf("after the restore %s has %s", at, found)
				}
			}
			if r := c.served.run("GET", c.api+"/v1/runs/"+c.run, ""); r.Status != "completed" {
				t.Errorf("the run is %s", r.Status)
			}
		})
	}
}

// copyFolder copies a folder of a host that has ended.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
}
