// Reading files again while the host runs.

package server

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/cli"
)

// hangup returns a channel that receives when somebody asks for a reload. Requests that
// follow each other fast are one.
func hangup() (requests chan os.Signal, stop func()) {
	requests = make(chan os.Signal, 1)
	signal.Notify(requests, syscall.SIGHUP)
	return requests, func() { signal.Stop(requests) }
}

// reload reads the signing keys, the bootstrap file and the lists again at each request until
// ctx ends. The log has a line for each of them. What cannot be read stays as it was.
func (h *host) reload(ctx context.Context, requests <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-requests:
		}
		h.reloadKeys()
		h.reloadBootstrap(ctx)
		h.reloadLists(ctx)
		h.log.Info("not reloaded: settings, variables, secrets of providers and the search key; restart the host for them")
	}
}

func (h *host) reloadKeys() {
	file := h.settings.SigningKeyFile
	if f := h.storage.folder; file == "" && f != nil {
		file = f.SigningKeys()
	}
	if file == "" {
		h.log.Info("the signing keys were not read again: they are in no file")
		return
	}
	keys, err := cli.ReadKeys(file)
	if err != nil {
		h.log.Error("the signing keys were not reloaded", "error", err)
		return
	}
	h.keys.Replace(keys)
	h.log.Info("the signing keys were reloaded", "kids", keys.IDs())
}

var errOthersInFile = errors.New("its providers or lists have changed: restart the host")

func (h *host) reloadBootstrap(ctx context.Context) {
	if h.opened.bootstrap == nil || h.demo != nil {
		h.log.Info("no bootstrap file was read again: the host has none")
		return
	}
	var now opened
	var p problems
	now.bootstrap = now.readBootstrap(ctx, h.settings, h.env, &p)
	err, applied := p.err(), false
	if err == nil {
		before := h.opened.bootstrap
		same := reflect.DeepEqual(declared(now.bootstrap), declared(before)) && reflect.DeepEqual(listed(now.bootstrap), listed(before))
		if err = errOthersInFile; same {
			applied, err = h.apply(ctx, *now.bootstrap, h.opened.providers)
		}
	}
	if err != nil {
		h.log.Error("the bootstrap file was not reloaded", "error", err)
		return
	}
	if !applied {
		return // apply has logged why
	}
	h.opened.bootstrap = now.bootstrap
	h.log.Info("the bootstrap file was reloaded", "file", h.settings.Bootstrap)
}

// listed returns the sources of the lists of a bootstrap file.
func listed(b *definition.Bootstrap) (all []screening.Source) {
	for _, l := range b.Lists {
		all = append(all, bootstrap.ListSource(l))
	}
	return all
}

func (h *host) reloadLists(ctx context.Context) {
	if !h.settings.has(roleWorker) {
		return
	}
	loaded, err := h.lists.Reload(ctx)
	if err != nil {
		h.log.Error("lists were not reloaded; their last versions stay in use", "error", err)
	}
	h.log.Info("changed lists were reloaded", "lists", loaded)
}
