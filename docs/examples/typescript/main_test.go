// Test of both programs: their types are made, they are compiled, and they run against a host.

package main_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const root = "../../.."

func TestThePrograms(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("Node.js and npm are not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a build without a cache takes minutes
	defer cancel()
	dir := t.TempDir()
	for _, name := range []string{".npmrc", "package.json", "package-lock.json", "tsconfig.json", "types.ts", "sdk.ts"} {
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	openapi, err := filepath.Abs(filepath.Join(root, "adapters/httpapi/openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	do := func(in string, env []string, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	do(dir, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
	do(dir, []string{"OPENAPI=" + openapi}, "npm", "run", "build")

	verifyd := filepath.Join(t.TempDir(), "verifyd")
	do(root, nil, "go", "build", "-buildvcs=false", "-o", verifyd, "./hosts/verifyd")
	env := append(serve(ctx, t, verifyd), "WORKFLOW=0191f3c0-0000-7000-8000-000000000001", "CLIENT_ID=acme", "API_KEY=a-key-for-local-use-only")
	for program, want := range map[string]string{
		"types": "step 1 of 2: सहमति\nstep 2 of 2: आपका विवरण\n  नाम (required)\n  Date of birth\n  Home\ncompleted, 2 cards, name Asha Rao\n",
		"sdk":   "in_progress, customer_input\nthe customer goes to /journey/\ncompleted\n",
	} {
		if got := do(dir, env, "node", filepath.Join("built", program+".js")); got != want {
			t.Errorf("%s.ts printed\n%s\nwant\n%s", program, got, want)
		}
	}
}

// serve starts a host, which ends with the test, and returns the environment that leads to it.
func serve(ctx context.Context, t *testing.T, verifyd string) []string {
	t.Helper()
	host := exec.CommandContext(ctx, verifyd, "serve", "--bootstrap", "bootstrap.yaml",
		"--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	host.Stderr = t.Output()
	out, err := host.StdoutPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = host.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = host.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	api, _, ready := strings.Cut(strings.TrimPrefix(line, "verifyd ready api="), " ")
	if !ready {
		t.Fatalf("ready line = %q, %v", line, err)
	}
	return []string{"VERIFYD_URL=" + api}
}
