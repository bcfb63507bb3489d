// Tests that personal data is where it belongs: in the store and on the pages that show it, and in no log line, metric,
// error, address or file name. After a redaction it is nowhere.

package server_test

import (
	"bytes"
	"compress/zlib"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/jackc/pgx/v5"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"golang.org/x/net/html"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
)

// A canary stands in all that a person, a client, a vendor, a list or a reviewer fills in, and nowhere else.
const (
	canary     = "kanari" // in any case
	canaryName = "Kanarina Zwitscher"
	canaryPAN  = "KANPA1234R" // an individual's; the registry says who has it
)

var anyCase = regexp.MustCompile("(?i)" + canary)

// canaryHost is a host, and a run that has a canary in everything.
type canaryHost struct {
	*served

	cookie    *http.Cookie // of an admin of the console
	run, link string
	addresses []string // that responses lead to
}

// canaryElements makes a group of checks for each item of a list with the canary.
const canaryElements = `    next: known_as
  known_as:
    type: checks
    label: Known as
    for_each: '[steps.details.data.name, "nobody"]'
    need: any
    until: member.passed && item != "somebody"
    members:
      first: {provider: offline.name_match, with: {name: "${item}", other: "${steps.details.data.name}"}}
      second: {provider: offline.name_match, with: {name: "${steps.details.data.name}", other: "${item}"}, when: item != "nobody"}
    on_not_met: next
    on_unavailable: next
    next: pan
  pan:
`

// canarySettings writes a demo whose list has the canary, and whose account may use every surface.
func canarySettings(t *testing.T, more map[string]string) (vars map[string]string, session func(*served) *http.Cookie) {
	t.Helper()
	const key = "api_key: demo-key-for-local-use-only"
	vars = demoFile(t, key, key+"\n        surfaces: [workflows, runs, signals, files, erase]")
	list := filepath.Join(filepath.Dir(vars["VERIFYD_BOOTSTRAP"]), "fictional-list.csv")
	raw, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(raw), "\n")
	row := `"kanari-1","Person","` + canaryName + `","Kanarina Piep","1961-03-14","ru","","","Kanari: made up","","","kanari-set","2026-01-01T00:00:00","2026-11-01T00:00:00","2026-11-01T00:00:00"`
	if err := os.WriteFile(list, []byte(head+"\n"+row+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	onboarding := filepath.Join(filepath.Dir(list), "individual-onboarding.yaml")
	if raw, err = os.ReadFile(onboarding); err != nil {
		t.Fatal(err)
	}
	raw = bytes.ReplaceAll(raw, []byte("outcome: accepted}"), []byte(`outcome: accepted, data: {holder: "${steps.details.data.name}"}}`))
	raw = bytes.Replace(raw, []byte("    next: pan\n  pan:\n"), []byte(canaryElements), 1)
	if err := os.WriteFile(onboarding, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, issuer := keyFile(t)
	maps.Copy(vars, map[string]string{
		"VERIFYD_SIGNING_KEY_FILE": keys, "VERIFYD_LOG_LEVEL": "debug", "VERIFYD_SEARCH_KEY": strings.Repeat("5c", 32), "VERIFYD_ERASE_WITHIN": "1m",
	})
	maps.Copy(vars, more)
	return vars, func(s *served) *http.Cookie {
		link, err := issuer.IssueSignInLink(verification.Reviewer{Tenant: demoTenant, Name: "asha", Identity: "asha", Role: verification.RoleAdmin}, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cli.SignInURL(s.api, link), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || len(answer.Cookies()) == 0 {
			t.Fatalf("the sign-in: %v, %v", answer, err)
		}
		_ = answer.Body.Close()
		return answer.Cookies()[0]
	}
}

// canaryIn returns a canary of a text, with what is around it; empty for none. It looks into the streams of a PDF.
func canaryIn(text []byte) string {
	if at := anyCase.FindIndex(text); at != nil {
		return fmt.Sprintf("%q", text[max(0, at[0]-60):min(len(text), at[1]+60)])
	}
	for _, part := range bytes.Split(text, []byte("\nstream\n"))[1:] {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			content, _ := io.ReadAll(r) // what follows the stream is no error of it
			if found := canaryIn(bytes.ReplaceAll(content, []byte{0}, nil)); found != "" {
				return found
			}
		}
	}
	for _, word := range []string{canary, "Kanari", "KANARI"} {
		var wide []byte
		for _, c := range utf16.Encode([]rune(word)) {
			wide = append(wide, byte(c>>8), byte(c))
		}
		if bytes.Contains(text, wide) {
			return word + " in UTF-16"
		}
	}
	return ""
}

// visit sends a request of the account, or of the reviewer below /console, and keeps where the response leads to.
func (c *canaryHost) visit(method, address, body string, headers ...string) (int, []byte) {
	c.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = c.api + address
	}
	if strings.Contains(address, "/console/") {
		headers = append(headers, "client-id", "", "x-api-key", "", "Cookie", c.cookie.Name+"="+c.cookie.Value, "Accept", "text/html,application/pdf,*/*")
	}
	status, raw, answered := c.call(method, address, body, headers...)
	if to := answered.Get("Location"); to != "" {
		c.addresses = append(c.addresses, to)
	}
	return status, raw
}

// live starts the run and gives it all that it takes, up to its verdict.
func (c *canaryHost) live() {
	c.t.Helper()
	r := c.served.run("POST", c.api+onboarding, `{"reference_id":"kanari-ref","redirect_uri":"https://app.acme.example/verify/kanari","input":{"note":"kanari input"}}`, "Idempotency-Key", "kanari-key", "Prefer", "wait=10")
	c.run, c.link = r.ID, r.Action.URL
	signal := func(name, body string) {
		if status, raw := c.visit("POST", "/v1/signals/"+c.run+"/"+name, body); status >= 300 {
			c.t.Fatalf("%s = %d %s", name, status, raw)
		}
	}
	signal("consent_submitted", `{"payload":{"consent_status":"success"}}`)
	id := c.upload()
	signal("details_submitted", fmt.Sprintf(`{"payload":{"name":%q,"dob":"1961-03-14","pan":%q,"photo":{"document_id":%q}}}`, canaryName, canaryPAN, id))
	c.await(c.run, func(r runJSON) bool { return r.Decision != nil && *r.Decision == "review" })
	signal("human_review_resubmit", `{"payload":{"step":"details","reasons":["other"],"fields":["name"],"note_to_customer":"kanari, again"}}`)
	signal("details_submitted", fmt.Sprintf(`{"payload":{"name":%q,"dob":"1961-03-14","pan":%q,"photo":{"document_id":%q}}}`, canaryName, canaryPAN, id))
	c.await(c.run, func(r runJSON) bool { return r.Decision != nil && *r.Decision == "review" })
	for _, part := range []string{"/hits", "/notes", "/assign"} {
		c.submit("/console/runs/"+c.run, part)
	}
	signal("human_review_decision", `{"payload":{"decision":"approve","notes":"kanari notes"}}`)
	if r := c.await(c.run, func(r runJSON) bool { return r.Status == "completed" }); r.Decision == nil || *r.Decision != "approve" {
		c.t.Errorf("the run is %s, want it approved", r.Status)
	}
}

// upload uploads a photo as the page of the journey does, and returns its id.
func (c *canaryHost) upload() (id string) {
	c.t.Helper()
	raw, err := os.ReadFile(selfie(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("photo", "kanari.jpg")
	if err != nil {
		c.t.Fatal(err)
	}
	_, _ = part.Write(raw)
	_ = w.Close()
	status, answer := c.visit("POST", "/v1/runs/"+c.run+"/documents", b.String(), "Content-Type", w.FormDataContentType())
	found := regexp.MustCompile(`"(?:document_)?id": ?"([0-9a-f-]{36})"`).FindSubmatch(answer)
	if status >= 300 || found == nil {
		c.t.Fatalf("upload = %d %s", status, answer)
	}
	return string(found[1])
}

// submit fills in the first form of a page whose action ends with part: each text with a canary, and of each choice the
// first one that is not empty.
func (c *canaryHost) submit(page, part string) {
	c.t.Helper()
	_, raw := c.visit("GET", page, "")
	root, err := html.Parse(bytes.NewReader(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	for n := range root.Descendants() {
		action, _, _ := strings.Cut(attribute(n, "action"), "?")
		if n.Data != "form" || !strings.HasSuffix(action, part) {
			continue
		}
		status, answer := c.visit("POST", attribute(n, "action"), filled(n).Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
		if status >= 400 {
			c.t.Fatalf("the form %s of %s = %d %s", part, page, status, answer)
		}
		return
	}
	c.t.Fatalf("%s has no form %s: %s", page, part, raw)
}

// filled returns the values of a form.
func filled(form *html.Node) url.Values {
	values, choice := url.Values{}, ""
	for n := range form.Descendants() {
		name, kind := attribute(n, "name"), attribute(n, "type")
		switch {
		case n.Data == "select":
			choice = name
		case n.Data == "option" && attribute(n, "value") != "" && !values.Has(choice):
			values.Set(choice, attribute(n, "value"))
		case name == "" || n.Data != "input" && n.Data != "textarea" && n.Data != "button":
		case n.Data == "textarea" || n.Data == "input" && (kind == "text" || kind == "search"):
			values.Set(name, "kanari typed")
		case !values.Has(name) && kind != "checkbox":
			values.Set(name, attribute(n, "value"))
		}
	}
	return values
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// everyAnswer visits every address of the API with the run in it, the pages of the console that are linked from its
// lists, the link, and the addresses of operators. It returns the responses by address.
func (c *canaryHost) everyAnswer() map[string][]byte {
	c.t.Helper()
	found := map[string][]byte{}
	_, description := c.visit("GET", "/openapi.yaml", "")
	filling := strings.NewReplacer("{id}", c.run, "{run_id}", c.run, "{document_id}", c.run)
	for _, path := range regexp.MustCompile(`(?m)^  (/v1/\S*):$`).FindAllSubmatch(description, -1) {
		address := filling.Replace(string(path[1]))
		_, found[address] = c.visit("GET", address, "")
	}
	if len(found) < 10 {
		c.t.Fatalf("the description has %d paths", len(found))
	}
	for _, more := range []string{"/v1/runs/" + c.run + "?view=report", "/v1/runs/" + c.run + "/report.pdf?for=file&allow_missing=1"} {
		_, found[more] = c.visit("GET", more, "")
	}
	_, found["the link"] = c.visit("GET", c.link, "", "client-id", "", "x-api-key", "")
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		_, found["admin "+path] = c.visit("GET", c.admin+path, "")
	}
	c.crawl(found)
	return found
}

// maxPages bounds the pages that are crawled.
const maxPages = 400

// crawl follows the links of the console from its lists.
func (c *canaryHost) crawl(found map[string][]byte) {
	c.t.Helper()
	next := []string{"/console/queue", "/console/runs", "/console/runs/" + c.run, "/console/deliveries", "/console/numbers", "/console/workflows"}
	pages := 0
	for len(next) > 0 && pages < maxPages {
		at := next[0]
		next = next[1:]
		if _, seen := found[at]; seen {
			continue
		}
		pages++
		_, found[at] = c.visit("GET", at, "")
		root, err := html.Parse(bytes.NewReader(found[at]))
		if err != nil {
			continue
		}
		for n := range root.Descendants() {
			for _, name := range []string{"href", "src"} {
				to, _, _ := strings.Cut(attribute(n, name), "#")
				if strings.HasPrefix(to, "?") {
					path, _, _ := strings.Cut(at, "?")
					to = path + to
				}
				if strings.HasPrefix(to, "/console/") && !strings.Contains(to, "/assets/") && !strings.Contains(to, "lang=") && !strings.Contains(to, "/events") {
					next = append(next, to)
				}
			}
		}
	}
	if pages < 20 || pages == maxPages {
		c.t.Errorf("%d pages of the console were seen", pages)
	}
}

// provoke sends what is refused, with a canary in each value.
func (c *canaryHost) provoke() (refused map[string][]byte) {
	refused = map[string][]byte{}
	for _, r := range []struct{ method, path, body string }{
		{"POST", onboarding, `{"reference_id":"kanari\u0000"}`},
		{"POST", onboarding, `{"reference_id":"kanari","redirect_uri":"https://kanari.example/"}`},
		{"POST", onboarding, `{"reference_id":"kanari","input":"kanari"}`},
		{"POST", onboarding, `{"reference_id":"kanari`},
		{"POST", "/v1/signals/" + c.run + "/details_submitted", `{"payload":{"name":"kanari"}}`},
		{"POST", "/v1/signals/" + c.run + "/human_review_decision", `{"payload":{"decision":"kanari","notes":"kanari"}}`},
		{"POST", "/v1/runs/" + c.run + "/documents", "kanari"},
		{"GET", "/v1/runs?status=kanari", ""},
		{"GET", "/v1/runs?limit=kanari", ""},
		{"GET", "/v1/runs/kanari", ""},
		{"GET", "/v1/runs/" + c.run + "/documents/kanari", ""},
		{"POST", "/v1/callbacks/kanari", "kanari"},
		{"POST", "/v1/workflows/kanari/runs", `{"reference_id":"kanari"}`},
	} {
		if status, answer := c.visit(r.method, r.path, r.body); status >= 400 {
			refused[r.method+" "+r.path+" "+r.body] = answer
		} else {
			c.t.Errorf("%s %s %s = %d", r.method, r.path, r.body, status)
		}
	}
	for _, page := range []string{"/console/runs", "/console/queue"} { // who is searched for stands in no address
		c.submit(page, "/search")
	}
	return refused
}

// fileNames returns the names of all files below folders.
func fileNames(t *testing.T, folders ...string) (names []string) {
	t.Helper()
	for _, f := range folders {
		err := filepath.WalkDir(f, func(path string, _ fs.DirEntry, err error) error {
			names = append(names, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// filesWith returns the files below a folder that have a canary, and the photos.
func filesWith(t *testing.T, folder string) (with []string) {
	t.Helper()
	for _, name := range fileNames(t, folder) {
		raw, err := os.ReadFile(name)
		switch found := canaryIn(raw); {
		case err != nil: // a folder, or removed since
		case found != "":
			with = append(with, name+" "+found)
		case http.DetectContentType(raw) == "image/jpeg":
			with = append(with, name+", a photo")
		}
	}
	return with
}

// rowsWith returns the tables of a database whose rows have a canary.
func rowsWith(t *testing.T, address string) (with []string) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["verifyd.tenant"] = "all"
	db, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	rows, _ := db.Query(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = 'verifyd' AND table_type = 'BASE TABLE'")
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		var n int
		if err := db.QueryRow(t.Context(), "SELECT count(*) FROM verifyd."+pgx.Identifier{table}.Sanitize()+" r WHERE r::text ILIKE '%kanari%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			with = append(with, fmt.Sprintf("%d rows of %s", n, table))
		}
	}
	return with
}

// TestAPersonStaysInTheStoreAndLeavesIt gives a run a canary in everything. Until it is redacted, only the store and the
// responses that show the run have it; afterwards nothing has.
func TestAPersonStaysInTheStoreAndLeavesIt(t *testing.T) {
	for _, on := range []string{"memory", "folder", "postgres", "postgres with S3"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			more, kept := map[string]string{}, func() []string { return nil } // what the store keeps
			var folders []string
			serve := func(vars map[string]string) *served { return serveHost(t, vars) }
			switch on {
			case "folder":
				folder := newFolder(t)
				more["VERIFYD_DATA_DIR"] = string(folder)
				folders, kept = []string{string(folder)}, func() []string { return filesWith(t, string(folder)) }
			case "postgres":
				address, blobs := pgtest.Database(t), t.TempDir()
				more["VERIFYD_DATABASE_URL"], more["VERIFYD_BLOB_DIR"] = address, blobs
				folders, kept = []string{blobs}, func() []string { return append(rowsWith(t, address), filesWith(t, blobs)...) }
			case "postgres with S3":
				address, b := pgtest.Database(t), newBucket(t)
				more["VERIFYD_DATABASE_URL"], serve = address, b.serve
				kept = func() []string { return append(rowsWith(t, address), b.uploads()...) }
			}
			vars, session := canarySettings(t, more)
			c := &canaryHost{served: serve(vars)}
			c.cookie = session(c.served)
			c.live()
			if n := len(kept()); on != "memory" && n < 2 {
				t.Errorf("the store has %d rows, files and objects of the run: is it read right?", n)
			}
			shown := 0
			for at, answer := range c.everyAnswer() {
				found := canaryIn(answer)
				if strings.HasPrefix(at, "admin ") && found != "" {
					t.Errorf("%s has %s", at, found)
				}
				if found != "" {
					shown++
				}
			}
			c.await(c.run, func(r runJSON) bool { return r.Status == "completed" })
			if _, end := c.visit("GET", "/v1/runs/"+c.run, ""); !strings.Contains(string(end), `"data":{"holder":"`+canaryName) {
				t.Errorf("the end gives no canary: %s", end)
			}
			if shown < 6 {
				t.Errorf("%d responses have a canary: is the run complete?", shown)
			}
			for at, answer := range c.provoke() {
				if found := canaryIn(answer); found != "" {
					t.Errorf("the refusal of %s has %s", at, found)
				}
			}
			c.quiet("before the redaction", folders)

			c.served.run("POST", c.api+"/v1/runs/"+c.run+"/redact", "")
			for at, answer := range c.everyAnswer() {
				if found := canaryIn(answer); found != "" {
					t.Errorf("after the redaction %s has %s", at, found)
				}
			}
			c.quiet("after the redaction", folders)
			end := time.Now().Add(2 * time.Minute)
			for len(kept()) > 0 && time.Now().Before(end) {
				<-time.After(time.Second)
			}
			for _, left := range kept() {
				t.Errorf("after the redaction the store has %s", left)
			}
		})
	}
}

// bucket is an object store in memory.
type bucket struct {
	t       *testing.T
	backend *s3mem.Backend
	server  *httptest.Server
}

const bucketName = "documents"

func newBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{t: t, backend: s3mem.New()}
	if err := b.backend.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewTLSServer(gofakes3.New(b.backend).Server())
	t.Cleanup(b.server.Close)
	return b
}

// serve starts a process with the bucket, since a process reads the certificates that it trusts once.
func (b *bucket) serve(vars map[string]string) *served {
	b.t.Helper()
	roots := filepath.Join(b.t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.server.Certificate().Raw}), 0o600); err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(vars, map[string]string{
		"SSL_CERT_FILE": roots, "VERIFYD_S3_ENDPOINT": strings.TrimPrefix(b.server.URL, "https://"), "VERIFYD_S3_BUCKET": bucketName,
		"VERIFYD_S3_REGION": "us-east-1", "VERIFYD_S3_ACCESS_KEY": "access", "VERIFYD_S3_SECRET_KEY": "secret",
	})
	s, _ := serveProcess(b.t, vars)
	return s
}

// serveProcess starts a host as a process of its own.
func serveProcess(t *testing.T, vars map[string]string) (*served, *process.Host) {
	t.Helper()
	log, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, stderr: &syncBuffer{}}
	go func() { _, _ = io.Copy(s.stderr, log) }()
	h, err := process.StartHost(process.HostOptions{Program: os.Args[0], Name: "host", Stderr: stderr, Env: append(env(vars), asProgram+"=1")})
	if err != nil {
		t.Fatalf("%v: %s", err, s.stderr)
	}
	t.Cleanup(func() { _ = h.Kill() })
	_ = stderr.Close() // the host has it
	s.api, s.admin = h.API, h.Admin
	return s, h
}

// uploads returns the objects that are uploads or have a canary.
func (b *bucket) uploads() (found []string) {
	b.t.Helper()
	list, err := b.backend.ListBucket(bucketName, nil, gofakes3.ListBucketPage{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range list.Contents {
		content, err := b.backend.GetObject(bucketName, o.Key, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		raw, err := io.ReadAll(content.Contents)
		if err != nil {
			b.t.Fatal(err)
		}
		if http.DetectContentType(raw) == "image/jpeg" || canaryIn(append(raw, o.Key...)) != "" {
			found = append(found, o.Key)
		}
	}
	return found
}

// quiet fails if a log line, a metric, an address or a file name has a canary.
func (c *canaryHost) quiet(when string, folders []string) {
	c.t.Helper()
	for line := range strings.Lines(c.stderr.String()) {
		if canaryIn([]byte(line)) != "" {
			c.t.Errorf("%s the log says %s", when, line)
		}
	}
	if !strings.Contains(c.stderr.String(), "level=DEBUG") {
		c.t.Error("the log has no line of the level debug")
	}
	if _, metrics := c.visit("GET", c.admin+"/metrics", ""); canaryIn(metrics) != "" {
		c.t.Errorf("%s the metrics have %s", when, canaryIn(metrics))
	}
	allowed := func(address string) bool { return strings.HasPrefix(address, "https://app.acme.example/verify/kanari") }
	for _, address := range slices.Concat(c.addresses, fileNames(c.t, folders...)) {
		if found := canaryIn([]byte(address)); found != "" && !allowed(address) {
			c.t.Errorf("%s an address or a file is named %s", when, found)
		}
	}
}
