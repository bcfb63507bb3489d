// What operators see of a host with a data folder.

package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
)

// hold returns the data folder as operators see it; nil without one.
func (h *host) hold() *operator.Held {
	f := h.storage.folder
	if f == nil {
		return nil
	}
	var mu sync.Mutex
	return operator.Hold(f.Folder, f.journal, operator.Host{
		Wake: func() { h.engine.Wake() },
		Describe: func(ctx context.Context) pgadmin.Host {
			mu.Lock()
			defer mu.Unlock()
			me := pgadmin.Host{Host: h.described(), SeenAt: time.Now().UTC(), Alive: true}
			me.Facts = h.facts(ctx).String()
			return me
		},
	})
}

// serveOperators serves operators on the socket in the data folder until the host is closed.
func (h *host) serveOperators(ctx context.Context) error {
	if h.operators == nil {
		return nil
	}
	stop, err := operator.Serve(ctx, h.storage.folder.Folder, h.operators, h.log)
	if err != nil {
		return fmt.Errorf("%s: %w", cli.Setting("data-dir"), err)
	}
	h.closing = append(h.closing, stop)
	return nil
}
