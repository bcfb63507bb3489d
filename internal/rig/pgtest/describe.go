// Describe, for people who want to know which PostgreSQL the tests use.

package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Describe returns one line about the PostgreSQL of the tests and installs one if
// necessary. If the environment names a server, only tests that stop a server need
// the programs.
func Describe(ctx context.Context) (string, error) {
	programs, err := describePrograms(ctx)
	if there, parseErr := url.Parse(os.Getenv(EnvURL)); parseErr == nil && there.Host != "" {
		if err != nil {
			programs = err.Error()
		}
		return fmt.Sprintf("the server %s of %s; for tests that stop a server: %s", there.Host, EnvURL, programs), nil
	}
	return programs, err
}

func describePrograms(ctx context.Context) (string, error) {
	bin, err := find(ctx)
	if err != nil {
		return "", err
	}
	program := filepath.Join(bin, "postgres")
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	return strings.TrimSpace(string(out)) + ", " + bin, nil
}
