// What hosts on one database must have in common.

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// HostFacts are what a host says about itself in its heartbeats.
type HostFacts struct {
	// Providers are the hashes of the declarations of providers, without secrets, and Lists
	// the versions of lists, by name. A provider of one tenant has the name TENANT/NAME.
	Providers map[string]string `json:"providers,omitempty"`
	Lists     map[string]string `json:"lists,omitempty"`
	// ShrunkLists are the versions of lists that wait to be accepted, by the names of the lists.
	ShrunkLists map[string]ShrunkList `json:"shrunk_lists,omitempty"`
	// Keys are the ids of the signing keys. The first one signs.
	Keys      []string `json:"keys,omitempty"`
	PublicURL string   `json:"public_url,omitempty"`
	// SearchKey is a hash of the search key; empty without one. SearchKeyReplaced says that
	// the database was first used with another key; without one, that it was used with a key.
	SearchKey         string `json:"search_key,omitempty"`
	SearchKeyReplaced bool   `json:"search_key_replaced,omitempty"`
	// Documents identifies the folder or bucket of uploads.
	Documents string `json:"documents,omitempty"`
	// Scripts are the scripts that reports are printed in.
	Scripts []string `json:"scripts,omitempty"`
	Build   string   `json:"build,omitempty"`
	// StoreBytes is how much memory the runs of a host without a database need, and StoreLimit
	// how much they may need; 0 for no limit.
	StoreBytes int64 `json:"store_bytes,omitempty"`
	StoreLimit int64 `json:"store_limit,omitempty"`
	// Connections is how many connections of clients are open, and ConnectionLimit how many
	// may be; 0 for no limit.
	Connections     int `json:"connections,omitempty"`
	ConnectionLimit int `json:"connection_limit,omitempty"`
	// DiskFree is the free space of the disk of a data folder, and DiskReserve the free space
	// below which the host takes no new runs and no uploads, in bytes; 0 without a data folder.
	DiskFree    int64 `json:"disk_free,omitempty"`
	DiskReserve int64 `json:"disk_reserve,omitempty"`
	// StoreAnswers is how much memory the runs may need before answers are refused, too.
	StoreAnswers int64 `json:"store_answers,omitempty"`
	// Memory is what the process needs, and MemoryLimits what it may need before it refuses new
	// runs, refuses answers, and leaves the work of runs.
	Memory       int64   `json:"memory,omitempty"`
	MemoryLimits []int64 `json:"memory_limits,omitempty"`
	// FullTenants are tenants whose share of the memory or of the disk is full.
	FullTenants []string `json:"full_tenants,omitempty"`
	// FullTrails are tenants whose audit trail has no room for more reads.
	FullTrails []string `json:"full_trails,omitempty"`
	// NoLedger says that no ledger has what was redacted and deleted. ErasuresFailed counts the runs of a store
	// that was restored which could not be erased again.
	NoLedger       bool `json:"no_ledger,omitempty"`
	ErasuresFailed int  `json:"erasures_failed,omitempty"`
	// LedgerProblem is what the host found wrong with the ledger, and LedgerOwed counts the entries that it does not
	// have yet.
	LedgerProblem string `json:"ledger_problem,omitempty"`
	LedgerOwed    int    `json:"ledger_owed,omitempty"`
	// RedactionsPending counts redactions that are not complete, and RedactionPending is the age of the oldest
	// one.
	RedactionsPending int           `json:"redactions_pending,omitempty"`
	RedactionPending  time.Duration `json:"redaction_pending,omitempty"`
	// EraseWithin is the time within which a redaction is to be complete.
	EraseWithin time.Duration `json:"erase_within,omitempty"`
	// RetentionLate is how long something is due that retention has not reached.
	RetentionLate time.Duration `json:"retention_late,omitempty"`
	// RetentionGrace is how long the policy before a change still keeps runs.
	RetentionGrace time.Duration `json:"retention_grace,omitempty"`
	// ManualClock is the time of a host whose clock is manual; zero for the system's.
	ManualClock time.Time `json:"manual_clock,omitzero"`
	// Unkeyed is how many workflows have runs whose search keys are not made anew.
	Unkeyed int `json:"unkeyed,omitempty"`
	// ClockAhead is how far the clock of the host is ahead of the clock of the database.
	ClockAhead time.Duration `json:"clock_ahead,omitempty"`
}

// ShrunkList is a version of a list that lost more than half of the accepted entries.
type ShrunkList struct {
	Version  string `json:"version"`
	Entries  int    `json:"entries"`
	Accepted int    `json:"accepted"`
	InUse    bool   `json:"in_use,omitempty"` // the host has no other version
}

// MaxClockSkew is the difference to the clock of the database at which a host warns.
const MaxClockSkew = 2 * time.Second

// ParseHostFacts parses facts in JSON, such as those of a host of another build. Empty
// means none.
func ParseHostFacts(text string) (f HostFacts, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &f)
	}
	return f, err
}

// String returns the facts in JSON.
func (f HostFacts) String() string {
	raw, err := json.Marshal(f)
	if err != nil { // it is plain data
		return ""
	}
	return string(raw)
}

// ComparedHost is a live host for Differences.
type ComparedHost struct {
	Label  string // its name and address
	Worker bool   // it executes runs
	HostFacts
}

// Difference is what hosts on one database do not have in common, and what to do.
type Difference struct{ Message, Advice string }

// Differences compares hosts, and returns one entry for each difference.
func Differences(hosts []ComparedHost) (all []Difference) {
	workers := slices.DeleteFunc(slices.Clone(hosts), func(h ComparedHost) bool { return !h.Worker })
	named := func(noun, differently, advice string, of func(ComparedHost) map[string]string) {
		names := map[string]bool{}
		for _, h := range workers {
			for name := range of(h) {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			var have, lack []ComparedHost
			for _, h := range workers {
				if _, ok := of(h)[name]; ok {
					have = append(have, h)
				} else {
					lack = append(lack, h)
				}
			}
			if len(lack) > 0 {
				all = append(all, Difference{
					fmt.Sprintf("%s %s is missing on %s; %s has it", noun, name, labels(lack), labels(have)),
					"start all hosts with the same bootstrap file; runs that need it are left to the hosts that have it",
				})
			}
			if groups := grouped(have, func(h ComparedHost) string { return of(h)[name] }); len(groups) > 1 {
				all = append(all, Difference{noun + " " + name + " " + differently + ": " + strings.Join(groups, " against "), advice})
			}
		}
	}
	named("the provider", "is declared differently", "start all hosts with the same bootstrap file", func(h ComparedHost) map[string]string { return h.Providers })
	named("the list", "has different versions", "give all hosts the same file; a changed file is loaded within 20 s",
		func(h ComparedHost) map[string]string { return h.Lists })
	for _, c := range []struct {
		message, advice string
		of              func(ComparedHost) string
	}{
		{
			"the signing keys differ", "give all hosts the same --signing-key-file: a link or token of one host may be refused by others",
			func(h ComparedHost) string { return strings.Join(h.Keys, " ") },
		},
		{
			"the search keys differ", "give all hosts the same VERIFYD_SEARCH_KEY: the console of one host does not find the runs of others by a person",
			func(h ComparedHost) string { return h.SearchKey },
		},
		{"--public-url differs", "give all hosts the same --public-url, under which customers and vendors reach them", func(h ComparedHost) string { return h.PublicURL }},
		{
			"the hosts store uploads in different places", "give all hosts the same --blob-dir or --s3-bucket: a host does not find the uploads of others",
			func(h ComparedHost) string { return h.Documents },
		},
		{
			"reports are printed in different scripts", "give all hosts the same --font-dir and font packages: a report may look different on another host",
			func(h ComparedHost) string { return strings.Join(h.Scripts, " ") },
		},
		{
			"--retention-grace differs", "give all hosts the same --retention-grace: the shortest one decides when a changed policy removes runs",
			func(h ComparedHost) string { return h.RetentionGrace.String() },
		},
		{"the builds differ", "use one build, unless an upgrade is under way", func(h ComparedHost) string { return h.Build }},
	} {
		if groups := grouped(hosts, c.of); len(groups) > 1 {
			all = append(all, Difference{c.message + ": " + strings.Join(groups, " against "), c.advice})
		}
	}
	return all
}

// labels returns the hosts as a text.
func labels(hosts []ComparedHost) string {
	all := make([]string, 0, len(hosts))
	for _, h := range hosts {
		all = append(all, h.Label)
	}
	return strings.Join(all, ", ")
}

// grouped returns the hosts with each value, in the order of the hosts.
func grouped(hosts []ComparedHost, of func(ComparedHost) string) (groups []string) {
	with := map[string][]ComparedHost{}
	var values []string
	for _, h := range hosts {
		v := of(h)
		if with[v] == nil {
			values = append(values, v)
		}
		with[v] = append(with[v], h)
	}
	for _, v := range values {
		groups = append(groups, labels(with[v]))
	}
	return groups
}
