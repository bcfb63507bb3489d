// The key of the search for people.

package server

import (
	"context"
	"crypto/rand"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

func checkSearchKey(p *problems, flag, key string) {
	if len(key) < cli.MinSearchKey {
		p.add(flag, "has %d bytes and must have at least %d; openssl rand -base64 32 makes a key", len(key), cli.MinSearchKey)
	}
}

// readSearchKey returns the search key of the settings; nil for none. A host in memory makes
// one: it forgets its runs anyway. The key of a data folder is read when the folder is open.
func (s Settings) readSearchKey(p *problems) []byte {
	switch {
	case s.SearchKey != "":
		return []byte(s.SearchKey)
	case s.SearchKeyFile != "":
		key, err := cli.ReadValue(s.SearchKeyFile)
		if err != nil {
			p.wrap("search-key-file", err)
			return nil
		}
		checkSearchKey(p, "search-key-file", key)
		return []byte(key)
	case s.Memory:
		return []byte(rand.Text() + rand.Text())
	}
	return nil
}

// searchFacts are what a host says about its search key.
type searchFacts struct {
	check    string // a hash that tells keys apart; empty without a key
	replaced bool   // the hosts of the database had another key at first; without a key: they had one
}

// useSearchKey compares the search key with the one that the hosts of the database or the data
// folder had at first, and logs what a reviewer would otherwise only notice as missing runs.
func (h *host) useSearchKey(ctx context.Context, key []byte) (f searchFacts, err error) {
	if key != nil {
		f.check = cli.SearchCheck(key)
	}
	db := h.storage.database
	switch {
	case h.storage.folder != nil:
		first, err := cli.ReadValue(h.storage.folder.SearchKey())
		if err == nil && first != string(key) {
			h.log.Warn("the search key is not the one in the data folder: runs from before are not found by a person; remove the setting of the key")
		}
		return f, nil
	case db == nil:
		return f, nil
	}
	first, err := db.SearchCheck(ctx, f.check)
	f.replaced = err == nil && first != f.check
	switch {
	case f.replaced && key == nil:
		h.log.Warn("this database was first used with a search key, and this host has none: the console finds no run by a person, and runs of this time stay unfindable; set VERIFYD_SEARCH_KEY to the first key")
	case f.replaced:
		h.log.Warn("the search key is not the one that this database was first used with: runs from before are not found by a person; set VERIFYD_SEARCH_KEY to the first key")
	case key == nil:
		h.log.Info("search for people is off: the console finds no run by a name, number, mail or phone; set VERIFYD_SEARCH_KEY to turn it on")
	}
	return f, err
}
