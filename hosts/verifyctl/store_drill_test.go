// Drills: hosts are backed up under load, all is lost, and the backup is restored with the ledger of erasures as it is then.

package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const drillBootstrap = `tenants:
  - id: 00000000-0000-7000-8000-0000000000aa
    name: Acme
    accounts: [{client_id: acme, api_key: a-key-for-local-use-only, surfaces: [workflows, runs, signals, files, erase]}]
    workflows:
      - workflow: portrait
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Portrait
        start: photo
        nodes:
          photo: {type: customer_input, fields: {face: {type: image, required: true}}, next: done}
          done: {type: end}
`

// drill is hosts that are lost and restored.
type drill struct {
	*world

	dir  string
	vars map[string]string // settings of the host
	face []byte
	*drilled

	documents sync.Map // ids of documents, by their runs
}

// drilled is a process of a host.
type drilled struct {
	*client.Client
	*process.Host
}

// asHost is the variable that makes the test binary run verifyd.
const asHost = "VERIFYCTL_TEST_AS_HOST"

func newDrill(t *testing.T, vars map[string]string) *drill {
	t.Helper()
	d := &drill{world: onMemory(t), dir: t.TempDir(), vars: maps.Clone(vars)}
	d.server, d.clock, d.env = postgresServer(), clock.System{}, map[string]string{}
	file := filepath.Join(d.dir, "bootstrap.yaml")
	if err := os.WriteFile(file, []byte(drillBootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	d.vars["VERIFYD_BOOTSTRAP"] = file
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	d.face = picture.Bytes()
	return d
}

// serve starts a host.
func (d *drill) serve() {
	d.t.Helper()
	host, err := d.startHost()
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = host.Kill() })
	d.drilled = &drilled{Host: host}
	d.Client, err = client.New(client.Options{BaseURL: host.API, ClientID: "acme", APIKey: "a-key-for-local-use-only"})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *drill) startHost() (*process.Host, error) {
	environ := []string{asHost + "=1", "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_PUBLIC_URL=https://verify.example"}
	for name, value := range d.vars {
		environ = append(environ, name+"="+value)
	}
	return process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Env: environ})
}

// begin starts a run, which waits for a photo.
func (d *drill) begin(reference string) (verification.RunID, error) {
	r, err := d.StartRun(d.t.Context(), "0191f3c0-0000-7000-8000-000000000001", client.StartRequest{ReferenceID: reference})
	return r.ID, err
}

// whole starts a run, and sends its photo.
func (d *drill) whole(reference string) (verification.RunID, error) {
	id, err := d.begin(reference)
	if err != nil {
		return id, err
	}
	document, err := d.UploadDocument(d.t.Context(), id, "face", d.face)
	d.documents.Store(id, document.DocumentID)
	if err == nil {
		_, err = d.DeliverSignal(d.t.Context(), id, client.Signal{Name: "photo_submitted", Payload: map[string]any{"face": map[string]any{"document_id": document.DocumentID}}})
	}
	return id, err
}

// erase redacts runs, and deletes every third.
func (d *drill) erase(runs []verification.RunID) {
	d.t.Helper()
	for n, id := range runs {
		if n%3 == 0 {
			d.delete(id)
		} else if _, err := d.RedactRun(d.t.Context(), id); err != nil {
			d.t.Fatal(err)
		}
	}
}

// delete deletes a run as retention does.
func (d *drill) delete(id verification.RunID) {
	d.t.Helper()
	d.env["VERIFYD_DATABASE_URL"], d.env["VERIFYD_DATA_DIR"] = d.vars["VERIFYD_DATABASE_URL"], d.vars["VERIFYD_DATA_DIR"]
	db := d.database()
	clear(d.env)
	defer func() { _ = db.close() }()
	events, err := db.Load(d.t.Context(), tenant, id, 0)
	if err == nil {
		err = db.Append(d.t.Context(), tenant, id, len(events), store.Commit{Delete: true, Erasure: &verification.Erasure{
			Tenant: tenant, Run: id, Kind: verification.ErasureDeleted, At: events[0].At, StartedAt: events[0].At,
		}})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// says runs a command, and checks its exit code and something that it says.
func (d *drill) says(line string, exit int, want string) string {
	d.t.Helper()
	d.transcript()
	d.ctl(line)
	got := string(d.transcript())
	if !strings.HasSuffix(got, fmt.Sprintf("exit %d\n", exit)) || !strings.Contains(got, want) {
		d.t.Fatalf("got %s, want exit %d and %q", got, exit, want)
	}
	return got
}

// shown returns what a client reads of all runs, by their ids.
func (d *drill) shown() map[verification.RunID]apitypes.RunDetail {
	d.t.Helper()
	all := map[verification.RunID]apitypes.RunDetail{}
	for r, err := range d.Runs(d.t.Context(), client.RunQuery{}) {
		if err != nil {
			d.t.Fatal(err)
		}
		detail, err := d.ReadRun(d.t.Context(), r.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		all[r.ID] = detail
	}
	return all
}

// TestABackupIsRestored loses everything but the ledger of erasures.
func TestABackupIsRestored(t *testing.T) {
	for name, settings := range map[string]func(dir string) (vars map[string]string, source, target, ledger string, flags string){
		"PostgreSQL": func(dir string) (map[string]string, string, string, string, string) {
			blobs := filepath.Join(dir, "blobs")
			vars := map[string]string{"VERIFYD_DATABASE_URL": pgtest.Database(t), "VERIFYD_BLOB_DIR": blobs}
			return vars, vars["VERIFYD_DATABASE_URL"], pgtest.Database(t), filepath.Join(blobs, ".erasures.jsonl"), " --blob-dir " + blobs
		},
		"folder": func(dir string) (map[string]string, string, string, string, string) {
			folder := datadir.Folder(filepath.Join(dir, "data"))
			return map[string]string{"VERIFYD_DATA_DIR": string(folder)}, string(folder), filepath.Join(dir, "restored"), folder.Erasures(), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			vars, source, target, ledger, flags := settings(t.TempDir())
			d := newDrill(t, vars)
			d.vars["VERIFYD_SEARCH_KEY"] = testSearchKey
			d.serve()
			must := func(id verification.RunID, err error) verification.RunID {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			var runs []verification.RunID
			for n := range 24 {
				runs = append(runs, must(d.whole(fmt.Sprintf("person-%d", n))))
			}
			waiting := must(d.begin("person-who-waits"))
			link := d.shown()[waiting].ActionRequired.URL
			d.erase(runs[:4])
			d.RedactRun(t.Context(), runs[4]) //nolint:errcheck // writes what the ledger is owed

			var during []verification.RunID // that load has begun before the backup ends
			enough, loaded := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(loaded)
				for n := 0; ; n++ {
					id, err := d.whole(fmt.Sprintf("load-%d", n))
					if err != nil {
						t.Error(err)
						return
					}
					during = append(during, id)
					select {
					case <-enough:
						return
					default:
					}
				}
			}()
			backups := t.TempDir()
			d.says("store backup "+source+" "+backups+flags, 0, "verifyd-")
			close(enough)
			<-loaded
			files, err := filepath.Glob(filepath.Join(backups, "*.tar.gz"))
			if err != nil || len(files) != 1 {
				t.Fatalf("the folder has %v, %v; want one backup", files, err)
			}
			backup := files[0]
			d.says("store verify "+backup, 0, "without a problem")
			before := d.shown()
			atBackup, err := os.ReadFile(ledger)
			if err != nil {
				t.Fatal(err)
			}
			d.erase(runs[5:15])
			d.RedactRun(t.Context(), runs[15]) //nolint:errcheck // writes what the ledger is owed
			erased := runs[5:16]

			// Nothing is restored beside a live host, and into what has data.
			d.says("store restore "+backup+" --to "+source+" --ledger "+ledger+flags, 2, "end ")
			if err := d.Stop(); err != nil {
				t.Fatal(err)
			}
			old := filepath.Join(t.TempDir(), "ledger")
			saved := filepath.Join(t.TempDir(), "ledger")
			for name, content := range map[string]func() ([]byte, error){
				old:   func() ([]byte, error) { return atBackup[:bytes.LastIndexByte(atBackup[:len(atBackup)-1], '\n')+1], nil },
				saved: func() ([]byte, error) { return os.ReadFile(ledger) }, saved + ".end": func() ([]byte, error) { return os.ReadFile(ledger + ".end") },
			} {
				raw, err := content()
				if err == nil {
					err = os.WriteFile(name, raw, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, lost := range []string{vars["VERIFYD_BLOB_DIR"], vars["VERIFYD_DATA_DIR"]} {
				if lost != "" {
					if err := os.RemoveAll(lost); err != nil {
						t.Fatal(err)
					}
				}
			}
			to := " --to " + target + flags
			d.says("store restore "+backup+to, 2, "--ledger: required: ")
			d.says("store restore "+backup+to+" --accept-ledger other", 2, "give --accept-ledger ")
			d.says("store restore "+backup+to+" --ledger "+old, 2, "1 of ")
			flipped := filepath.Join(t.TempDir(), "flipped")
			raw := bytes.Clone(atBackup)
			raw[len(raw)/2] ^= 1
			if err := os.WriteFile(flipped, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			d.says("store restore "+backup+to+" --ledger "+flipped, 2, "cannot be read")
			if _, err := os.Stat(target); err == nil {
				t.Error("a restore that was refused has made its target")
			}
			d.says("store restore "+backup+to+" --ledger "+saved, 0, "restored in ")

			for variable := range map[string]bool{"VERIFYD_DATABASE_URL": true, "VERIFYD_DATA_DIR": true} {
				if d.vars[variable] != "" {
					d.vars[variable] = target
				}
			}
			d.serve()
			after := d.shown()
			for n, id := range erased {
				r, there := after[id]
				if deleted := n%3 == 0 && n < 10; there == deleted {
					t.Errorf("run %s that was erased after the backup: there %t, deleted %t", id, there, deleted)
				}
				if there && r.RedactedAt.IsZero() {
					t.Errorf("run %s was redacted after the backup, and is there", id)
				}
				delete(before, id)
				delete(after, id)
			}
			for _, id := range during { // while it was backed up
				delete(before, id)
				delete(after, id)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("runs differ (-before the backup +restored): %s", diff)
			}
			for _, id := range runs[16:] {
				document, _ := d.documents.Load(id)
				f, err := d.ReadDocument(t.Context(), id, fmt.Sprint(document))
				if err != nil || len(f.Content) == 0 {
					t.Errorf("the document of run %s: %v", id, err)
				}
			}
			response, err := http.Get(d.API + link[strings.Index(link, "/journey/"):])
			if err != nil {
				t.Fatal(err)
			}
			if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
				t.Errorf("the link of before: %d", response.StatusCode)
			}
		})
	}
}
