// The bootstrap file and the built-in demo.

package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/verifyd/verifyd/adapters/definition"
	demofiles "github.com/verifyd/verifyd/hosts/verifyd/demo"
	boot "github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

// readBootstrap reads the bootstrap file, or the demo for a host in memory. It
// returns nil for a database without a bootstrap file.
func (o *opened) readBootstrap(s settings, env *environment, p *problems) *definition.Bootstrap {
	file, open := s.Bootstrap, os.ReadFile
	switch {
	case file == "" && s.DatabaseURL != "":
		return nil
	case file == "":
		file, open = "bootstrap.yaml", readDemo
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
		o.warnings = append(o.warnings, file+" has no tenant, so no client can call the API")
	}
	return &b
}

func readDemo(name string) ([]byte, error) {
	return demofiles.Files.ReadFile(path.Clean(filepath.ToSlash(name)))
}

// apply applies a bootstrap file. It changes only what differs from the file.
func (h *host) apply(ctx context.Context, b definition.Bootstrap) error {
	made := func(t verification.Tenant) {
		if h.storage.database != nil {
			h.log.Info("made a webhook secret for a tenant; verifyctl webhook secret prints it", "tenant", t.ID, "name", t.Name)
		} else {
			h.log.Warn("made a webhook secret that cannot be read; set webhook_secret in the bootstrap file", "tenant", t.ID, "name", t.Name)
		}
	}
	if h.settings.Bootstrap == "" {
		h.demo, made = &demo{}, func(verification.Tenant) {}
	}
	_, err := boot.Apply(ctx, b, h.engine, h.storage, made)
	return err
}

// demo prints instructions for the built-in demo. A nil demo prints nothing.
type demo struct {
	link func() (string, error) // makes a link to the console
}

// write writes the credentials of the demo, commands to try, and a link to the console.
func (d *demo) write(w io.Writer, api string) error {
	if d == nil {
		return nil
	}
	link, err := d.link()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, demoText, api, link)
	return nil
}

const demoText = `
This is the built-in demo, in memory: client-id demo, x-api-key demo-key-for-local-use-only.
First, paste these two lines:

  A=%[1]s/v1; W=$A/workflows/0191f3c0-0000-7000-8000-00000000000
  api() { curl -s -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -H 'content-type: application/json' "$@"; }

A run of five checks, and its PDF report:

  RUN=$(api ${W}1/runs -H 'prefer: wait=10' -d '{"reference_id":"person-1"}' | tee /dev/stderr | cut -d'"' -f4)
  api $A/runs/$RUN/report.pdf -o report.pdf -w 'report.pdf: %%{size_download} bytes\n'

A run with a journey link for its customer, in which a check fails:

  api ${W}2/runs -d '{"reference_id":"person-2","input":{"sandbox":{"face_match":"fail"}}}'

All runs that wait for a reviewer:

  api "$A/runs?decision=review"

The reviewer's console; the link works once, within ten minutes:

  %[2]s

The API is described at %[1]s/openapi.yaml.

`
