// Tests of an installed release: it serves from each way to install it, the image in a container.

package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// user is the user of the image, who has no name.
const user = 65532

// TestAReleaseServesFromABareRoot builds the programs for this machine twice, in different folders, and runs them from
// each way to install them.
func TestAReleaseServesFromABareRoot(t *testing.T) {
	need(t, "bwrap", "dpkg-deb", "rpm", "rpm2cpio", "systemd-sysusers", "umoci", "runc")
	target := "linux/" + runtime.GOARCH
	dist := build(t, repository, target)
	if a, b := contents(t, dist), contents(t, build(t, copied(t), target)); !equal(a, b) {
		t.Errorf("the same source in two folders gives\n%v\n%v", a, b)
	}
	the := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dist, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s is %v, %v, want one file", pattern, found, err)
		}
		return found[0]
	}
	for way, install := range map[string]func(root string) (file string){
		"tar": func(root string) string {
			file := the("*_linux_*.tar.gz")
			archive, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = archive.Close() }()
			unzipped, err := gzip.NewReader(archive)
			if err != nil {
				t.Fatal(err)
			}
			untar(t, unzipped, filepath.Join(root, "usr/bin"))
			return file
		},
		"deb": func(root string) string {
			command(t, "dpkg-deb", "-x", the("*.deb"), root)
			return the("*.deb")
		},
		"rpm": func(root string) string {
			// It fails after the last file, because it compares with a size that leaves out the headers; rpm itself does not.
			payload, _ := exec.CommandContext(t.Context(), "rpm2cpio", the("*.rpm")).Output()
			uncpio(t, payload, root)
			return the("*.rpm")
		},
		"image": func(root string) string {
			images(t, dist, func(_ string, image v1.Image) { untar(t, mutate.Extract(image), root) })
			return the("*_image.tar")
		},
	} {
		root, began := t.TempDir(), time.Now()
		file := install(root)
		serves(t, way, file, began, newRoot(t, root).command)
		switch way {
		case "deb":
			installs(t, file, root)
			hasFilesOfAPackage(t, root)
		case "rpm":
			command(t, "rpm", "-K", "--nosignature", file)
			if said := string(command(t, "rpm", "-qp", "--nosignature", "--scripts", file)); !strings.Contains(said, "systemd-sysusers") {
				t.Errorf("the scripts of the .rpm are %s", said)
			}
			hasFilesOfAPackage(t, root)
		case "image":
			certificates, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
			if block, _ := pem.Decode(certificates); err != nil || block == nil || bytes.Count(certificates, []byte("BEGIN")) < 100 {
				t.Errorf("the image has %d certificates, %v", bytes.Count(certificates, []byte("BEGIN")), err)
			}
		}
	}
	began := time.Now()
	if c := newContainer(t, the("*_image.tar")); c != nil {
		serves(t, "image, in a container", the("*_image.tar"), began, c.command, c.keepsToItsMemory)
	}
	describes(t, the("*_sbom.cdx.json"), the("*_licences.txt"))
	readmeInstalls(t, dist)
}

func hasFilesOfAPackage(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"usr/lib/systemd/system/verifyd.service", "usr/lib/sysusers.d/verifyd.conf", "etc/verifyd/verifyd.env", "usr/share/doc/verifyd/licences.txt", "usr/share/doc/verifyd/changelog.md"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}

// installs runs the script of the .deb on a root, where it makes the user.
func installs(t *testing.T, deb, root string) {
	t.Helper()
	control := t.TempDir()
	command(t, "dpkg-deb", "-e", deb, control)
	write(t, filepath.Join(root, "etc/passwd"), nil, 0o644)
	write(t, filepath.Join(root, "etc/group"), nil, 0o644)
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(control, "postinst"), "configure")
	cmd.Env = append(os.Environ(), "DPKG_ROOT="+root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the script of the .deb: %v\n%s", err, out)
	}
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^verifyd:.*:/var/lib/verifyd:/usr/sbin/nologin$`).Match(users) {
		t.Errorf("the script of the .deb makes the users %s, %v", users, err)
	}
}

// program makes a command of a program of the release. The first one is the host.
type program func(ctx context.Context, name string, vars map[string]string, args ...string) *exec.Cmd

// serves runs the host of a file whose installation began at a time, and its first run. While the host runs, it calls also.
func serves(t *testing.T, way, file string, began time.Time, run program, also ...func()) {
	t.Helper()
	installed := time.Since(began)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	host := run(ctx, "verifyd", map[string]string{"VERIFYD_ADDR": "127.0.0.1:0", "VERIFYD_ADMIN_ADDR": "127.0.0.1:0", "VERIFYD_DATA_DIR": "/var/lib/verifyd"}, "serve")
	host.Cancel = func() error { return host.Process.Signal(syscall.SIGTERM) }
	said, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = host.Wait() }()
	line, err := bufio.NewReader(said).ReadString('\n')
	ready := regexp.MustCompile(`^verifyd ready api=(\S+) admin=(\S+) store=journal dir=/var/lib/verifyd `).FindStringSubmatch(line)
	if err != nil || ready == nil {
		t.Fatalf("%s: the host says %q, %v", way, line, err)
	}
	serving := time.Since(began)
	completesARun(ctx, t, ready[1])
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.1f MB, installed after %.1f s, ready after %.1f s, the first run was completed after %.1f s",
		way, float64(info.Size())/1e6, installed.Seconds(), serving.Seconds(), time.Since(began).Seconds())
	for path, want := range map[string]string{
		"/healthz": `{"commit":"` + commit + `","status":"ok","version":"v` + version + `"}`,
		"/metrics": `verifyd_build_info{commit="` + commit + `",date="` + date + `",go="` + runtime.Version() + `",version="v` + version + `"} 1`,
	} {
		if got := get(t, ready[2]+path); !strings.Contains(got, want) {
			t.Errorf("%s: %s has no %s:\n%.500s", way, path, want, got)
		}
	}
	out, err := run(ctx, "verifyd", map[string]string{"VERIFYD_ADMIN_ADDR": strings.TrimPrefix(ready[2], "http://")}, "health").Output()
	if err != nil || !strings.Contains(string(out), `"status":"ok"`) {
		t.Errorf("%s: verifyd health says %s, %v", way, out, err)
	}
	stamp := " v" + version + " (commit " + commit + ", " + date + ", " + runtime.Version() + ")"
	for _, name := range []string{"verifyd", "verifyctl"} {
		if out, err := run(ctx, name, nil, "--version").Output(); err != nil || string(out) != name+stamp+"\n" {
			t.Errorf("%s: %s --version says %s, %v, want %s", way, name, out, err, stamp)
		}
	}
	out, _ = run(ctx, "verifyctl", nil, "doctor", "--data-dir", "/var/lib/verifyd").Output() // it may warn
	if !strings.Contains(string(out), "verifyctl"+stamp) {
		t.Errorf("%s: the doctor says %s", way, out)
	}
	for _, do := range also {
		do()
	}
}

// completesARun starts a run of the demo, answers it as its customer, and waits for its end.
func completesARun(ctx context.Context, t *testing.T, api string) {
	t.Helper()
	var run struct{ ID, Status string }
	call := func(path, body string) {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		r, err := http.NewRequestWithContext(ctx, method, api+"/v1"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Client-Id": {"demo"}, "X-Api-Key": {"demo-key-for-local-use-only"}, "Content-Type": {"application/json"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= http.StatusBadRequest || json.Unmarshal(text, &run) != nil {
			t.Fatalf("%s %s answers %s: %s, %v", method, path, resp.Status, text, err)
		}
	}
	call("/workflows/0191f3c0-0000-7000-8000-000000000002/runs", `{"reference_id":"person-1"}`)
	call("/signals/"+run.ID+"/consent_submitted", `{"payload":{"consent_status":"success"}}`)
	call("/signals/"+run.ID+"/details_submitted", `{"payload":{"name":"Asha Rao","dob":"1990-02-01","pan":"ABCPR1234F"}}`)
	for tick := time.Tick(50 * time.Millisecond); run.Status != "completed"; {
		select {
		case <-tick:
			call("/runs/"+run.ID, "")
		case <-ctx.Done():
			t.Fatalf("the run is %s", run.Status)
		}
	}
}

// root is a folder that programs see as their root, which they cannot write to, with a folder that they can write to.
type root struct {
	t            *testing.T
	folder, data string
}

func newRoot(t *testing.T, folder string) root {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.MkdirAll(filepath.Join(folder, "var/lib/verifyd"), 0o755), os.Mkdir(data, 0o700)); err != nil {
		t.Fatal(err)
	}
	return root{t, folder, data}
}

func (r root) command(ctx context.Context, name string, vars map[string]string, args ...string) *exec.Cmd {
	if !namespaces() {
		return jailed(ctx, r.t, r.folder, name, vars, args...)
	}
	all := []string{
		"--unshare-user", "--unshare-pid", "--uid", fmt.Sprint(user), "--gid", fmt.Sprint(user), "--clearenv", "--die-with-parent",
		"--ro-bind", r.folder, "/", "--bind", r.data, "/var/lib/verifyd", "--chdir", "/var/lib/verifyd",
	}
	for name, value := range vars {
		all = append(all, "--setenv", name, value)
	}
	cmd := exec.CommandContext(ctx, "bwrap", append(append(all, "/usr/bin/"+name), args...)...)
	cmd.Stderr = r.t.Output()
	return cmd
}

// memory is what a container may use, in bytes.
const memory = 256 << 20

// container is the image as runc runs it: read-only, in little memory.
type container struct {
	t                  *testing.T
	id, bundle, states string
	runs               bool
}

// newContainer unpacks the image, or returns nil where this machine forbids containers.
func newContainer(t *testing.T, image string) *container {
	t.Helper()
	folder := t.TempDir()
	c := &container{t: t, id: "verifyd-test-" + fmt.Sprint(os.Getpid()), bundle: filepath.Join(folder, "bundle"), states: filepath.Join(folder, "runc")}
	if os.Getuid() != 0 {
		t.Log("the image was not run in a container: only root can")
		return nil
	}
	archive, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	layout, data := filepath.Join(folder, "layout"), filepath.Join(folder, "data")
	untar(t, archive, layout)
	command(t, "umoci", "unpack", "--image", layout+":"+version, c.bundle)
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, user, user)); err != nil {
		t.Fatal(err)
	}
	c.configure(data, "/usr/bin/verifyd", "--version")
	if out, err := exec.CommandContext(t.Context(), "runc", "--root", c.states, "run", "--bundle", c.bundle, c.id).CombinedOutput(); err != nil {
		t.Logf("the image was not run in a container: %v, %s", err, out)
		return nil
	}
	c.configure(data, "/usr/bin/verifyd", "serve")
	return c
}

// configure gives the container a read-only root, a volume, the network of this machine, and little memory.
func (c *container) configure(data string, args ...string) {
	c.t.Helper()
	file := filepath.Join(c.bundle, "config.json")
	text, err := os.ReadFile(file)
	var config map[string]any
	if err = errors.Join(err, json.Unmarshal(text, &config)); err != nil {
		c.t.Fatal(err)
	}
	process, linux := object(c.t, config["process"]), object(c.t, config["linux"])
	if who := object(c.t, process["user"]); who["uid"] != float64(user) {
		c.t.Errorf("the image runs as %v", who)
	}
	process["terminal"], process["args"] = false, args
	process["env"] = append(list(c.t, process["env"]), "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0")
	object(c.t, config["root"])["readonly"] = true
	without := func(all any, field string, value any) []any {
		return slices.DeleteFunc(list(c.t, all), func(one any) bool { return object(c.t, one)[field] == value })
	}
	config["mounts"] = append(without(config["mounts"], "destination", "/var/lib/verifyd"),
		map[string]any{"destination": "/var/lib/verifyd", "type": "bind", "source": data, "options": []string{"rbind", "rw"}})
	linux["namespaces"] = without(linux["namespaces"], "type", "network")
	linux["resources"] = map[string]any{"memory": map[string]any{"limit": memory, "swap": memory}}
	if text, err = json.Marshal(config); err != nil {
		c.t.Fatal(err)
	}
	write(c.t, file, text, 0o600)
}

// object and list return a value of the configuration.
func object(t *testing.T, value any) map[string]any {
	t.Helper()
	m, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("the configuration has %v, want an object", value)
	}
	return m
}

func list(t *testing.T, value any) []any {
	t.Helper()
	all, ok := value.([]any)
	if !ok {
		t.Fatalf("the configuration has %v, want a list", value)
	}
	return all
}

// keepsToItsMemory checks that the running container has the limit, and logs what it needed at most.
func (c *container) keepsToItsMemory() {
	c.t.Helper()
	var stats struct {
		Data struct {
			Memory struct {
				Usage struct{ Limit, Max, Usage uint64 }
			}
		}
	}
	if err := json.Unmarshal(command(c.t, "runc", "--root", c.states, "events", "--stats", c.id), &stats); err != nil {
		c.t.Fatal(err)
	}
	used := stats.Data.Memory.Usage
	if used.Limit != memory || used.Usage == 0 {
		c.t.Errorf("the container has the memory %+v, want the limit %d", used, memory)
	}
	c.t.Logf("the container needed %d MiB of %d at most, with the cache of files", max(used.Max, used.Usage)>>20, memory>>20)
}

// command runs the container, or a program in it.
func (c *container) command(ctx context.Context, name string, vars map[string]string, args ...string) *exec.Cmd {
	all := []string{"--root", c.states, "run", "--bundle", c.bundle, c.id}
	if c.runs {
		all = []string{"--root", c.states, "exec"}
		for name, value := range vars {
			all = append(all, "--env", name+"="+value)
		}
		all = append(append(all, c.id, "/usr/bin/"+name), args...)
	}
	c.runs = true
	cmd := exec.CommandContext(ctx, "runc", all...)
	cmd.Stderr = c.t.Output()
	return cmd
}

// namespaces reports whether bubblewrap may make a root of its own. Some containers forbid it.
var namespaces = sync.OnceValue(func() bool {
	return exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true").Run() == nil
})

// jailed returns a command with a root and a user of its own. The root is not the user's, who can write to the folder of the
// host alone. Only root can run it.
func jailed(ctx context.Context, t *testing.T, root, name string, vars map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	for at := root; at != filepath.Clean(os.TempDir()) && at != "/"; at = filepath.Dir(at) { // or the user cannot reach the root
		if err := os.Chmod(at, 0o755); err != nil {
			break
		}
	}
	if err := os.Chown(filepath.Join(root, "var/lib/verifyd"), user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "/usr/bin/"+name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = "/var/lib/verifyd", []string{}, t.Output()
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	return cmd
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
