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
)

//go:embed demo/*.yaml
var demoFiles embed.FS

// readBootstrap reads the bootstrap file, or the demo for a host in memory. A
// database without a bootstrap file is served as it is.
func (o *opened) readBootstrap(s settings, env *environment, p *problems) *definition.Bootstrap {
	file, open := s.Bootstrap, os.ReadFile
	switch {
	case file == "" && s.DatabaseURL != "":
		return nil
	case file == "":
		file, open = "demo/bootstrap.yaml", readDemo
	}
	raw, err := open(file)
	if err != nil {
		p.wrap("bootstrap", err)
		return nil
	}
	b, err := definition.ReadBootstrap(file, raw, open, env.get)
	if err != nil {
		p.other(err)
		return nil
	}
	if len(b.Tenants) == 0 {
		o.warnings = append(o.warnings, file+" names no tenant, so it lets nobody call the API")
	}
	return &b
}

func readDemo(name string) ([]byte, error) {
	return demoFiles.ReadFile(path.Clean(filepath.ToSlash(name)))
}

// apply makes everything as a bootstrap file says. It changes nothing that is as
// the file says already.
func (h *host) apply(ctx context.Context, b definition.Bootstrap) error {
	made := func(t verification.Tenant) {
		if h.storage.database != nil {
			h.log.Info("made the webhook secret of a tenant; verifyctl webhook secret prints it", "tenant", t.ID, "name", t.Name)
		} else {
			h.log.Warn("made a webhook secret that nobody can read; name a webhook_secret in the bootstrap file", "tenant", t.ID, "name", t.Name)
		}
	}
	if h.settings.Bootstrap == "" {
		h.demo, made = &demo{}, func(verification.Tenant) {}
	}
	_, err := boot.Apply(ctx, b, h.engine, h.storage, made)
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
Paste these two lines first:

  A=%[1]s/v1; W=$A/workflows/0191f3c0-0000-7000-8000-00000000000
  api() { curl -s -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -H 'content-type: application/json' "$@"; }

A run of five checks, and its PDF report:

  RUN=$(api ${W}1/runs -H 'prefer: wait=10' -d '{"reference_id":"person-1"}' | tee /dev/stderr | cut -d'"' -f4)
  api $A/runs/$RUN/report.pdf -o report.pdf -w 'report.pdf: %%{size_download} bytes\n'

A run that sends its customer to a journey link, and where a check fails:

  api ${W}2/runs -d '{"reference_id":"person-2","input":{"sandbox":{"face_match":"fail"}}}'

Everything that a reviewer owes a verdict on:

  api "$A/runs?decision=review"

The API is described at %[1]s/openapi.yaml.

`
