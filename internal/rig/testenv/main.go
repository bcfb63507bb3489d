// Command testenv prints the browser, the PostgreSQL, the pooler and the real names that the
// tests use. It installs them if they are missing, but for the pooler, without which some tests
// are skipped. It fails if that is not possible.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/internal/rig/realnames"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// opening is printed first, because the tests print little while they run.
const opening = `All tests take about 10 minutes on two idle cores, and 25 minutes with the race detector.
First, what is missing is installed: Chromium (with apt as root, else from npm), PostgreSQL and the names (from npm).
`

func run(ctx context.Context, stdout io.Writer) error {
	fmt.Fprint(stdout, opening)
	var missing []error
	for _, tool := range []struct {
		name     string
		describe func(context.Context) (string, error)
	}{
		{"Browser", browser.Describe},
		{"PostgreSQL", pgtest.Describe},
		{"Pooler", pgtest.DescribePooler},
		{"Names", realnames.Describe},
	} {
		line, err := tool.describe(ctx)
		if err != nil {
			missing = append(missing, fmt.Errorf("%s of the tests: %w", tool.name, err))
			continue
		}
		fmt.Fprintf(stdout, "%s of the tests: %s\n", tool.name, line)
	}
	return errors.Join(missing...)
}
