// The bootstrap file.

package server

import (
	"context"
	"os"

	"github.com/verifyd/verifyd/adapters/definition"
	boot "github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
)

// readBootstrap reads the bootstrap file, or that of the demo for a host in memory without
// one. It returns nil for a host on a database without one, and after a problem.
func (o *opened) readBootstrap(s settings, env *environment, p *problems) *definition.Bootstrap {
	file, open := s.Bootstrap, os.ReadFile
	switch {
	case o.demo != nil:
		file, open = "bootstrap.yaml", o.demo.read
	case file == "":
		return nil
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

// apply applies a bootstrap file. It changes only what differs from the file, and logs
// each webhook secret that it generates.
func (h *host) apply(ctx context.Context, b definition.Bootstrap) error {
	made := func(t verification.Tenant) {
		if h.storage.database != nil {
			h.log.Info("generated a webhook secret for a tenant; verifyctl webhook secret prints it", "tenant", t.ID, "name", t.Name)
		} else {
			h.log.Warn("generated a webhook secret that cannot be read; set webhook_secret in the bootstrap file", "tenant", t.ID, "name", t.Name)
		}
	}
	if h.demo != nil {
		made = func(verification.Tenant) {}
	}
	_, err := boot.Apply(ctx, b, h.engine, h.storage, made)
	return err
}
