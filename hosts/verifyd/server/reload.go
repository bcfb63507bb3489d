// Reading the signing keys again while the host runs.

package server

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/verifyd/verifyd/internal/cli"
)

// hangup returns a channel that receives when somebody asks for a reload. Requests that
// follow each other fast are one.
func hangup() (requests chan os.Signal, stop func()) {
	requests = make(chan os.Signal, 1)
	signal.Notify(requests, syscall.SIGHUP)
	return requests, func() { signal.Stop(requests) }
}

// reload reads the file of the signing keys at each request until ctx ends. Keys that cannot
// be read change nothing.
func (h *host) reload(ctx context.Context, requests <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-requests:
		}
		file := h.settings.SigningKeyFile
		if f := h.storage.folder; file == "" && f != nil {
			file = f.SigningKeys()
		}
		if file == "" {
			h.log.Warn("nothing to reload: there is no signing key file")
			continue
		}
		keys, err := cli.ReadKeys(file)
		if err != nil {
			h.log.Error("the signing keys were not reloaded", "error", err)
			continue
		}
		h.keys.Replace(keys)
		h.log.Info("the signing keys were reloaded", "kids", keys.IDs())
	}
}
