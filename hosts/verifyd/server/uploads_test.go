// Tests of uploads: the memory that they take, and the limit of a tenant.

package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/verifyd/server"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
)

// child is a host in a process of its own.
type child struct {
	served
	process *exec.Cmd
}

// startChild builds the host, starts it and waits for its ready line.
func startChild(t *testing.T, vars ...string) *child {
	t.Helper()
	folder := t.TempDir()
	if err := process.Build(t.Context(), folder, "verifyd"); err != nil {
		t.Fatal(err)
	}
	c := &child{served: served{t: t, stderr: &syncBuffer{}}, process: exec.CommandContext(t.Context(), filepath.Join(folder, "verifyd"), "serve")}
	c.process.Env = append([]string{"VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0", "VERIFYD_MEMORY=true"}, vars...)
	c.process.Stderr = c.stderr
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if _, bad := fmt.Sscanf(line, "verifyd ready api=%s admin=%s", &c.api, &c.admin); err != nil || bad != nil {
		t.Fatalf("ready line = %q, %v, %v; %s", line, err, bad, c.stderr)
	}
	return c
}

// terminate stops the child as an operator does, and returns an error unless it exits
// with 0.
func (c *child) terminate() error {
	if err := c.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return c.process.Wait()
}

// memory reads a line of the child's status, such as VmRSS, in bytes.
func (c *child) memory(name string) int64 {
	c.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(raw)
	if found == nil {
		c.t.Fatalf("no %s in %s", name, raw)
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n << 10
}

// zeros reads as zero bytes without end: the content of the files, which is never in memory.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// barrier is a reader without content. Each reader waits until all have arrived.
type barrier struct {
	all    *sync.WaitGroup
	arrive func()
}

func (b barrier) Read([]byte) (int, error) {
	b.arrive()
	b.all.Wait()
	return 0, io.EOF
}

// form has the inputs of a journey page: the hidden ones with their values, and the one
// for a file.
type form struct {
	hidden map[string]string
	file   string
}

var (
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
	fileInput   = regexp.MustCompile(`<input type="file" id="[^"]+" name="([^"]+)"[^>]*>`)
)

// readForm opens a link as a browser does.
func (s *served) readForm(link string) form {
	s.t.Helper()
	status, page, _ := s.call("GET", link, "", "client-id", "", "x-api-key", "")
	file := fileInput.FindSubmatch(page)
	if status != http.StatusOK || file == nil {
		s.t.Fatalf("journey page = %d %s, want one that takes a file", status, page)
	}
	f := form{hidden: map[string]string{}, file: string(file[1])}
	for _, found := range hiddenInput.FindAllSubmatch(page, -1) {
		f.hidden[string(found[1])] = string(found[2])
	}
	return f
}

// post returns the request that sends the form with a PDF of the maximum size. In the
// middle of the file it waits at the barrier.
func (f form) post(link string, wait barrier) (*http.Request, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range f.hidden {
		if err := w.WriteField(name, value); err != nil {
			return nil, err
		}
	}
	if _, err := w.CreateFormFile(f.file, "statement.pdf"); err != nil {
		return nil, err
	}
	const begin, end = "%PDF-1.4\n%", "\n%%EOF\n"
	b.WriteString(begin)
	head := b.Bytes()
	tail := end + "\r\n--" + w.Boundary() + "--\r\n"
	filling := int64(verification.MaxDocumentBytes - len(begin) - len(end))
	r, err := http.NewRequest(http.MethodPost, link, io.MultiReader(
		bytes.NewReader(head), io.LimitReader(zeros{}, filling/2), wait,
		io.LimitReader(zeros{}, filling-filling/2), strings.NewReader(tail),
	))
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(len(head)) + filling + int64(len(tail))
	r.Header.Set("Content-Type", w.FormDataContentType())
	return r, nil
}

const oneFile = `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: statement
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Statement
        start: upload
        nodes:
          upload:
            type: customer_input
            label: Your statement
            fields: {statement: {type: file, label: Statement, required: true, accept: [application/pdf]}}
            next: done
          done: {type: end}
`

// The kernel records the peak memory of a process, so no peak falls between two
// measurements.
func TestFiftyConcurrentUploadsTakeLittleMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports the peak memory of another process")
	}
	const uploads, limit = 50, 200 << 20
	bootstrap, blobs := filepath.Join(t.TempDir(), "bootstrap.yaml"), t.TempDir()
	if err := os.WriteFile(bootstrap, []byte(oneFile), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "VERIFYD_BOOTSTRAP="+bootstrap, "VERIFYD_BLOB_DIR="+blobs)
	idle := c.memory("VmRSS")
	var runs [uploads]runJSON
	var forms [uploads]form
	for n := range uploads {
		runs[n] = c.run("POST", c.api+records, fmt.Sprintf(`{"reference_id":"person-%d"}`, n))
		forms[n] = c.readForm(runs[n].Action.URL)
	}
	before, begun := c.memory("VmRSS"), time.Now()
	browser := &http.Client{
		Timeout:       2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var arrived, wg sync.WaitGroup
	arrived.Add(uploads)
	for n := range uploads {
		arrive := sync.OnceFunc(arrived.Done)
		wg.Go(func() {
			defer arrive() // even if the request ended early: the others wait
			r, err := forms[n].post(runs[n].Action.URL, barrier{&arrived, arrive})
			if err != nil {
				t.Error(err)
				return
			}
			answer, err := browser.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			page, _ := io.ReadAll(answer.Body)
			if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || strings.Contains(to, "moved") {
				t.Errorf("upload %d = %d %s %s, want it accepted", n, answer.StatusCode, to, page)
			}
		})
	}
	wg.Wait()
	took, peak := time.Since(begun), c.memory("VmHWM")
	t.Logf("%d uploads of 10 MiB in %v: idle %d MiB, before %d MiB, peak %d MiB, %d MiB above idle",
		uploads, took.Round(time.Millisecond), idle>>20, before>>20, peak>>20, (peak-idle)>>20)
	if peak-idle >= limit {
		t.Errorf("the host's memory grew by %d MiB, want less than %d", (peak-idle)>>20, limit>>20)
	}
	for _, r := range runs {
		c.wantCompleted(r.ID)
	}
	if kept := bytesBelow(t, blobs); kept < uploads*verification.MaxDocumentBytes {
		t.Errorf("%d bytes are stored, want %d files of 10 MiB", kept, uploads)
	}
	if err := c.terminate(); err != nil {
		t.Errorf("after SIGTERM: %v; %s", err, c.stderr)
	}
}

// wantCompleted waits until a run is completed.
func (c *child) wantCompleted(run string) {
	c.t.Helper()
	var r runJSON
	for range 6000 {
		if r = c.run("GET", c.api+"/v1/runs/"+run, ""); r.Status == "completed" {
			return
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the host runs on the wall clock
	}
	c.t.Errorf("run = %+v, want completed", r)
}

// bytesBelow returns the size of all files in a folder.
func bytesBelow(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// sendFile starts a run of oneFile, and uploads a file of the maximum size.
func (s *served) sendFile() (status int, page string) {
	s.t.Helper()
	run := s.run("POST", s.api+records, `{"reference_id":"person-1"}`)
	r, err := s.readForm(run.Action.URL).post(run.Action.URL, barrier{&sync.WaitGroup{}, func() {}})
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestTheDocumentLimitOfATenantCanBeSet(t *testing.T) {
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.yaml")
	if err := os.WriteFile(bootstrap, []byte(oneFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, vars := range map[string]map[string]string{
		"memory": {}, "folder": {"VERIFYD_BLOB_DIR": t.TempDir()}, "data folder": {"VERIFYD_DATA_DIR": t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			vars["VERIFYD_BOOTSTRAP"], vars["VERIFYD_DOCUMENT_BYTES_PER_TENANT"] = bootstrap, "11534336"
			s := serveHost(t, vars)
			if status, page := s.sendFile(); status != http.StatusSeeOther {
				t.Errorf("a file of 10 MiB within 11 MiB = %d %s, want it accepted", status, page)
			}
			if status, page := s.sendFile(); status != http.StatusUnprocessableEntity || !strings.Contains(page, "We cannot take more files right now") {
				t.Errorf("another one = %d %s, want it refused", status, page)
			}
		})
	}
}

func TestATenantHasAShareOfTheDocuments(t *testing.T) {
	for name, tenants := range map[string]string{"alone": "", "with another": "  - {id: 0191f3c0-0000-7000-8000-00000000000c, name: Shop}\n"} {
		t.Run(name, func(t *testing.T) {
			// Of the 512 MiB for documents, a share of 0.01 has no room for 10 MiB.
			s := serveHost(t, map[string]string{
				"VERIFYD_MEMORY": "true", "VERIFYD_BOOTSTRAP": bootstrapFile(t, oneFile+tenants), "VERIFYD_TENANT_SHARE": "0.01",
			})
			status, page := s.sendFile()
			if tenants == "" {
				if status != http.StatusSeeOther {
					t.Errorf("a file = %d %s, want it accepted", status, page)
				}
				return
			}
			if status != http.StatusUnprocessableEntity || !strings.Contains(page, "We cannot take more files right now") {
				t.Errorf("a file = %d %s, want it refused", status, page)
			}
			const want = "this tenant's share of the space for documents is full"
			if log := s.stderr.String(); !strings.Contains(log, want) || !strings.Contains(log, "tenant 0191f3c0-0000-7000-8000-00000000000b uses") {
				t.Errorf("the log does not name the tenant whose share is full: %s", log)
			}
		})
	}
}

func TestAnInvalidDocumentLimitIsRefused(t *testing.T) {
	const limit, flag = "VERIFYD_DOCUMENT_BYTES_PER_TENANT", "--document-bytes-per-tenant"
	for _, vars := range []map[string]string{
		{limit: "1000"},
		{limit: "-1"},
		{limit: "much"},
		{limit: "20000000", "VERIFYD_S3_ENDPOINT": "127.0.0.1:1", "VERIFYD_S3_BUCKET": "documents"},
	} {
		if err := server.ParseSettings([]string{"serve"}, env(vars), io.Discard); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v: %v, want a line that names %s", vars, err, flag)
		}
	}
}
