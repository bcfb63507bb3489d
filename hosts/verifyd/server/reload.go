// Reading files again while the host runs.

package server

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

// hangup returns a channel that receives when somebody asks for a reload. Requests that
// follow each other fast are one.
func hangup() (requests chan os.Signal, stop func()) {
	requests = make(chan os.Signal, 1)
	signal.Notify(requests, syscall.SIGHUP)
	return requests, func() { signal.Stop(requests) }
}

// reload reads the log level, the signing keys, the bootstrap file, the lists and the secrets of
// providers again at each request until ctx ends. The log has a line for each of them. What cannot be read stays as it was.
func (h *host) reload(ctx context.Context, requests <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-requests:
		}
		h.reloadLogLevel()
		h.reloadKeys()
		h.reloadBootstrap(ctx)
		h.reloadLists(ctx)
		h.reloadSecrets()
		h.log.Info("not reloaded: other settings, variables and the search key; restart the host for them")
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
func listed(b *definitions.Bootstrap) (all []screening.Source) {
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

// secretHolder is a provider that has secrets.
type secretHolder interface {
	Reload() (changed bool, err error)
}

func (h *host) reloadSecrets() {
	if h.settings.SecretsDir == "" || h.demo != nil {
		h.log.Info("no secrets of providers were read again: they are in no folder")
		return
	}
	reloaded := []string{}
	reload := func(tenant verification.TenantID, providers map[string]verification.Provider) {
		for _, name := range slices.Sorted(maps.Keys(providers)) {
			p, ok := providers[name].(secretHolder)
			if !ok {
				continue
			}
			changed, err := p.Reload()
			if err != nil {
				h.log.Error("secrets of a provider were not reloaded; the last ones stay in use", "provider", name, "tenant", tenant, "error", err)
			}
			if changed {
				reloaded = append(reloaded, name)
			}
		}
	}
	reload("", h.opened.providers.All)
	for _, tenant := range slices.Sorted(maps.Keys(h.opened.providers.Tenant)) {
		reload(tenant, h.opened.providers.Tenant[tenant])
	}
	h.log.Info("changed secrets of providers were reloaded", "providers", reloaded)
}

func (h *host) reloadLogLevel() {
	file := h.settings.LogLevelFile
	if file == "" {
		h.log.Info("the log level was not read again: it is in no file")
		return
	}
	level, err := readLogLevel(file)
	if err != nil {
		h.log.Error("the log level was not reloaded", "error", err)
		return
	}
	h.level.Set(min(level, h.level.Level())) // so that the line is seen
	h.log.Info("the log level was reloaded", "level", level)
	h.level.Set(level)
}
