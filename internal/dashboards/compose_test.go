// Tests of what compose.yaml puts together: its settings, its proxies and its receiver.

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
)

const composeFolder = "../../docs/operate/compose"

// filled are the values of env.example, filled in.
var filled = map[string]string{
	"VERIFYD_VERSION": "0.1.0", "DOMAIN": "localhost", "POSTGRES_PASSWORD": "p", "SEARCH_KEY": "a key of the search with 32 bytes",
	"API_KEY": "an-api-key-of-the-tests-of-compose", "WEBHOOK_SECRET": "whsec_b25lLW9uZS1vbmUtb25lLW9uZS1vbmUt", "GRAFANA_PASSWORD": "g",
}

func TestComposeIsValidAndComplete(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(composeFolder, "env.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=`).FindAllStringSubmatch(string(example), -1) {
		if filled[m[1]] == "" {
			t.Errorf("env.example has %s, which nothing needs", m[1])
		}
	}
	load := func(leaveOut string) (*cli.ProjectOptions, error) {
		env := []string{}
		for name, value := range filled {
			if name != leaveOut {
				env = append(env, name+"="+value)
			}
		}
		return cli.NewProjectOptions([]string{filepath.Join(composeFolder, "compose.yaml")}, cli.WithEnv(env), cli.WithInterpolation(true), cli.WithResolvedPaths(true))
	}
	for name := range filled {
		options, err := load(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "set it in .env") {
			t.Errorf("without %s: %v, want it named", name, err)
		}
		if !strings.Contains(string(example), "\n"+name+"=") {
			t.Errorf("env.example lacks %s", name)
		}
	}
	options, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range project.Services {
		for _, v := range service.Volumes {
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
	}
	// What is in force in its host is what it sets.
	c := exec.CommandContext(t.Context(), host(t.Context(), t), "config", "print", "--config", filepath.Join(composeFolder, "verifyd.yaml"))
	for name, value := range project.Services["verifyd"].Environment {
		if name != "VERIFYD_CONFIG" {
			c.Env = append(c.Env, name+"="+*value)
		}
	}
	var problems bytes.Buffer
	c.Stderr = &problems
	printed, err := c.Output()
	if err != nil {
		t.Fatalf("config print: %v\n%s", err, problems.String())
	}
	for _, want := range []string{`public_url: "https://localhost" # VERIFYD_PUBLIC_URL`, "# database_url: set by VERIFYD_DATABASE_URL", `addr: "0.0.0.0:8080" # `, "# search_key: set by VERIFYD_SEARCH_KEY"} {
		if !strings.Contains(string(printed), want) {
			t.Errorf("lacks %s:\n%s", want, printed)
		}
	}
}

// A host with the settings of compose.yaml is reached through each proxy, and its webhook by the receiver.
func TestProxiesForwardToAHostAndItsReceiverPrints(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // a build without a cache takes minutes
	defer cancel()
	dir := t.TempDir()
	replaced := func(name string, pairs ...string) string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(composeFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(string(raw), pairs[i]) {
				t.Fatalf("%s has no %q", name, pairs[i])
			}
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(raw))), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	receiver := free(t)
	hook := start(t, program(t, "python3", "python3"), "-c", "import os, runpy; os.environ['LISTEN']='"+receiver+"'; os.environ['WEBHOOK_SECRET']='"+
		filled["WEBHOOK_SECRET"]+"'; runpy.run_path('../../docs/examples/receiver/receiver.py')")
	bootstrap := replaced("bootstrap.yaml", "receiver:9000", receiver)
	config := replaced("verifyd.yaml", "0.0.0.0:8080", "127.0.0.1:0", "0.0.0.0:8081", "127.0.0.1:0", "/etc/verifyd/bootstrap.yaml", bootstrap,
		"/var/lib/verifyd/documents", filepath.Join(dir, "documents"))
	for name, value := range map[string]string{
		"API_KEY": filled["API_KEY"], "WEBHOOK_SECRET": filled["WEBHOOK_SECRET"], "VERIFYD_SEARCH_KEY": filled["SEARCH_KEY"],
		"VERIFYD_PUBLIC_URL": "https://localhost", "XDG_DATA_HOME": dir, "XDG_CONFIG_HOME": dir, "DOMAIN": "localhost",
	} {
		t.Setenv(name, value)
	}
	line, err := start(t, host(ctx, t), "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--blob-dir", filepath.Join(dir, "documents")).ReadString('\n')
	ready := regexp.MustCompile(`api=http://(\S+) admin=`).FindStringSubmatch(line)
	if ready == nil {
		t.Fatalf("ready line = %q, %v", line, err)
	}
	t.Setenv("UPSTREAM", ready[1])

	caddy, nginx := free(t), free(t)
	_, port, _ := net.SplitHostPort(caddy)
	_, plain, _ := net.SplitHostPort(free(t))
	global := filepath.Join(dir, "caddy.conf")
	write(t, global, fmt.Sprintf("{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n\tskip_install_trust\n}\nimport %s\n", plain, port, replaced("Caddyfile", "", "")))
	start(t, program(t, "caddy", "caddy"), "run", "--adapter", "caddyfile", "--config", global)
	certificate(t, dir)
	site := replaced("nginx.conf", "127.0.0.1:8080", ready[1], "listen 443", "listen "+nginx, "server_name verify.example", "server_name localhost",
		"/etc/nginx/verify.example.pem", filepath.Join(dir, "pem"), "/etc/nginx/verify.example.key", filepath.Join(dir, "key"))
	whole := filepath.Join(dir, "whole.conf")
	paths := ""
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += fmt.Sprintf("%s_temp_path %s;\n", what, filepath.Join(dir, what))
	}
	write(t, whole, fmt.Sprintf("daemon off; pid %s; error_log stderr;\n%s\nevents {}\nhttp {\naccess_log off;\n%sinclude %s;\n}\n", filepath.Join(dir, "pid"), user(), paths, site))
	start(t, program(t, "nginx", "nginx"), "-p", dir, "-e", "stderr", "-c", whole)

	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}}} //nolint:gosec // the proxies make their own certificates
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for name, address := range map[string]string{"caddy": caddy, "nginx": nginx} {
		do := func(method, path, body, key string) (int, string, error) {
			r, err := http.NewRequestWithContext(ctx, method, "https://"+address+path, strings.NewReader(body))
			if err != nil {
				return 0, "", err
			}
			r.Host = "localhost"
			r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {key}, "Content-Type": {"application/json"}}
			answer, err := client.Do(r)
			if err != nil {
				return 0, "", err
			}
			defer answer.Body.Close()
			raw, err := io.ReadAll(answer.Body)
			return answer.StatusCode, string(raw), err
		}
		key := filled["API_KEY"]
		for began := time.Now(); ; <-tick.C { // until the proxy is up
			if _, _, err := do("GET", "/v1/workflows", "", key); err == nil {
				break
			} else if time.Since(began) > time.Minute {
				t.Fatalf("%s: %v", name, err)
			}
		}
		is := func(method, path, body, key string, status int, want string) string {
			t.Helper()
			got, text, err := do(method, path, body, key)
			if err != nil || got != status || !strings.Contains(text, want) {
				t.Errorf("%s: %s %s = %d %.300s %v, want %d with %s", name, method, path, got, text, err, status, want)
			}
			return text
		}
		listed := is("GET", "/v1/workflows", "", key, 200, `"name":"First"`)
		is("GET", "/v1/workflows", "", "wrong", 401, "invalid service credentials")
		is("GET", "/metrics", "", key, 404, "") // of the admin address, which no proxy reaches
		is("GET", "/console/sign-in", "", key, 200, "<html")
		is("POST", "/v1/runs/"+nobody+"/cancel", strings.Repeat(" ", 10<<20), key, 413, "The body must be at most 1 MiB.") // the host's own words
		workflow := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(listed)
		if workflow == nil {
			t.Fatalf("%s: workflows = %s", name, listed)
		}
		run := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(is("POST", "/v1/workflows/"+workflow[1]+"/runs", `{"reference_id":"by-`+name+`"}`, key, 202, `"https://localhost/`))
		if run == nil {
			t.Fatalf("%s: no run", name)
		}
		is("POST", "/v1/runs/"+run[1]+"/cancel", "", key, 200, `"cancelled"`)
		said := make(chan string, 1)
		go func() {
			line, _ := hook.ReadString('\n')
			said <- line
		}()
		select {
		case told := <-said:
			if !strings.HasSuffix(told, " run.cancelled of by-"+name+"\n") {
				t.Errorf("%s: the receiver prints %q", name, told)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the receiver prints nothing", name)
		}
	}
}

const nobody = "00000000-0000-7000-8000-000000000000"

func user() string {
	if os.Getuid() == 0 {
		return "user root;"
	}
	return ""
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate writes a certificate of localhost and its key.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(t, filepath.Join(dir, "key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
