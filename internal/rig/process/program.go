// The programs of this repository.

package process

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Build builds programs of hosts/, such as verifyd, into a folder.
func Build(ctx context.Context, folder string, names ...string) error {
	return BuildOver(ctx, folder, "", names...)
}

// BuildOver is Build with a file that names other contents of sources, as go build -overlay has it; empty for none.
func BuildOver(ctx context.Context, folder, overlay string, names ...string) error {
	if err := readSources(ctx); err != nil {
		return err
	}
	for _, name := range names {
		// go run takes the linked program from its cache, and go build links it again.
		pkg, to := "github.com/verifyd/verifyd/hosts/"+name, filepath.Join(folder, name)
		if out, err := exec.CommandContext(ctx, "go", "run", "-buildvcs=false", "-overlay="+overlay, "-exec", "cp", pkg, to).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// Command returns a command with a hard limit of its memory; it crashes when it
// needs more. 0 means no limit. A shell sets the limit, and also the limit of stacks:
// C threads reserve that much for their stacks, which counts as data.
func Command(ctx context.Context, maxDataBytes int64, program string, args ...string) *exec.Cmd {
	if maxDataBytes == 0 {
		return exec.CommandContext(ctx, program, args...)
	}
	const script = `ulimit -s 1024 && ulimit -d "$1" && shift && exec "$@"`
	limit := strconv.FormatInt(maxDataBytes>>10, 10)
	return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, "sh", limit, program}, args...)...)
}

// readSources reads the files that the programs are built from. Otherwise `go test`
// would reuse a cached result after a program has changed.
func readSources(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/verifyd/verifyd").Output()
	if err != nil {
		return fmt.Errorf("find the sources of verifyd: %w", err)
	}
	root := strings.TrimSpace(string(out))
	for _, tree := range []string{"verification", "adapters", "hosts", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the sources of verifyd: %w", err)
		}
	}
	return nil
}
