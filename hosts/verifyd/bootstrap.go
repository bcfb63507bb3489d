// What the host serves from the start: a bootstrap file, or the built-in demo.

package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/verifyd/verifyd/adapters/definition"
	boot "github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

//go:embed demo/*.yaml
var demoFiles embed.FS

// bootstrap applies the bootstrap file, or the demo when there is none. It
// changes nothing that is as the file says already.
func bootstrap(
	ctx context.Context, s settings, e *engine.Engine, tenants verification.TenantStore,
	getenv func(string) string, stderr io.Writer,
) (*demo, error) {
	if s.Bootstrap == "" {
		raw, err := demoFiles.ReadFile("demo/bootstrap.yaml")
		if err != nil {
			return nil, err
		}
		open := func(name string) ([]byte, error) { return demoFiles.ReadFile(path.Clean(filepath.ToSlash(name))) }
		b, err := definition.ReadBootstrap("demo/bootstrap.yaml", raw, open, getenv)
		if err != nil {
			return nil, err
		}
		return &demo{}, apply(ctx, b, e, tenants, stderr)
	}
	raw, err := os.ReadFile(s.Bootstrap)
	if err != nil {
		return nil, fmt.Errorf("--bootstrap (VERIFYD_BOOTSTRAP): %w", err)
	}
	b, err := definition.ReadBootstrap(s.Bootstrap, raw, os.ReadFile, getenv)
	if err != nil {
		return nil, err
	}
	return nil, apply(ctx, b, e, tenants, stderr)
}

// apply makes everything as a bootstrap file says.
func apply(ctx context.Context, b definition.Bootstrap, e *engine.Engine, tenants verification.TenantStore, stderr io.Writer) error {
	_, err := boot.Apply(ctx, b, e, tenants, func(line string) { fmt.Fprintln(stderr, "verifyd:", line) })
	return err
}

// demo tells a newcomer what to try. A nil demo tells nothing.
type demo struct{}

// tell prints the demo's credentials and first lines.
func (d *demo) tell(w io.Writer, api string) {
	if d == nil {
		return
	}
	fmt.Fprintf(w, demoText, api)
}

const demoText = `
This is the built-in demo, kept in memory: client-id demo, x-api-key demo-key-for-local-use-only.

A run of five checks, from start to its PDF report:

  curl -s %[1]s/v1/workflows/0191f3c0-0000-7000-8000-000000000001/runs -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -H 'content-type: application/json' -H 'prefer: wait=10' -d '{"reference_id":"person-1"}' | tee /dev/stderr | sed -n 's/^{"id":"\([^"]*\)".*/\1/p' | xargs -I RUN curl -s %[1]s/v1/runs/RUN/report.pdf -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -o report.pdf -w '\nreport.pdf: %%{size_download} bytes\n'

A run that sends its customer to a journey link, and where a check fails:

  curl -s %[1]s/v1/workflows/0191f3c0-0000-7000-8000-000000000002/runs -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -H 'content-type: application/json' -d '{"reference_id":"person-2","input":{"sandbox":{"face_match":"fail"}}}'

Everything that a reviewer owes a verdict on:

  curl -s '%[1]s/v1/runs?decision=review' -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only'

The API is described at %[1]s/openapi.yaml.

`
