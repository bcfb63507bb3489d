// Hosts: the list of hosts and the signing keys that they share.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// hostTimeout is the time without a heartbeat after which a host counts as dead.
const hostTimeout = time.Minute

// deadHostLife is how long dead hosts stay in the list.
const deadHostLife = 24 * time.Hour

// Host is a process on this database, as its heartbeats describe it.
type Host struct {
	ID        string   `bun:",pk"` // a UUID, new at each start
	Name      string   // of the machine, or as its operator named it
	Address   string   // where it serves requests
	Roles     []string `bun:",array"` // of the process, such as api or worker
	Version   string
	Bootstrap string    // the hash of its bootstrap file; empty without one
	Facts     string    // JSON: what the host says about itself; the store does not read it
	StartedAt time.Time // by the clock of the host
	// SeenAt is the time of the last heartbeat, by the clock of the database, and SeenAgo
	// how many seconds ago that is. Alive reports whether it is less than a minute ago. SaveHost
	// ignores them.
	SeenAt  time.Time
	SeenAgo float64 `bun:",scanonly"`
	Alive   bool    `bun:",scanonly"`
}

// hostRow is a row of verifyd.hosts.
type hostRow struct {
	bun.BaseModel `bun:"table:verifyd.hosts,alias:h"`
	Host
}

func (r hostRow) host() Host {
	r.StartedAt, r.SeenAt = r.StartedAt.UTC(), r.SeenAt.UTC()
	return r.Host
}

// SaveHost records a heartbeat of a host. Call it every few seconds, so that
// operators see the host.
func (s *Store) SaveHost(ctx context.Context, h Host) error {
	if !storable(h.ID, h.Name, h.Address, h.Version, h.Bootstrap, h.Facts) || !storable(h.Roles...) {
		return notStorable("host")
	}
	h.Roles = append([]string{}, h.Roles...) // an empty list for nil
	err := s.querier().exec(ctx, noTenant, s.db.NewInsert().Model(&hostRow{Host: h}).Value("seen_at", "clock_timestamp()").
		On("CONFLICT (id) DO UPDATE").Set("seen_at = excluded.seen_at, facts = excluded.facts").String())
	return translate("save host "+h.ID, err)
}

// RemoveHost removes a host that stops.
func (s *Store) RemoveHost(ctx context.Context, id string) error {
	err := s.querier().exec(ctx, noTenant, s.db.NewDelete().Model(&hostRow{Host: Host{ID: id}}).WherePK().String())
	return translate("remove host "+id, err)
}

// Hosts returns the running hosts, and for a day those that died, in the order of
// their names and starts.
func (s *Store) Hosts(ctx context.Context) ([]Host, error) {
	all, err := selectAll(ctx, s.querier(), noTenant, s.db.NewSelect().Model((*hostRow)(nil)).ColumnExpr("h.*").
		ColumnExpr("extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seen_ago").
		ColumnExpr("seen_at > clock_timestamp() - make_interval(secs => ?) AS alive", hostTimeout.Seconds()).
		OrderExpr("name, started_at, id").String(), hostRow.host)
	return all, translate("list hosts", err)
}

// removeDeadHosts removes hosts that died more than deadHostLife ago.
func (s *Store) removeDeadHosts(ctx context.Context) error {
	err := s.querier().exec(ctx, noTenant, s.db.NewDelete().Model((*hostRow)(nil)).
		Where("seen_at < clock_timestamp() - make_interval(secs => ?)", deadHostLife.Seconds()).String())
	return translate("remove dead hosts", err)
}

// AppliedFile is a bootstrap file that was applied to the database.
type AppliedFile struct {
	Hash string `bun:",pk"` // of what the file says
	// AppliedAt is the time at which the file became the newest, by the clock of the
	// database. SaveAppliedFile ignores it.
	AppliedAt time.Time
	Names     string // JSON: the names of what the file lists
}

// appliedFileRow is a row of verifyd.applied_files.
type appliedFileRow struct {
	bun.BaseModel `bun:"table:verifyd.applied_files,alias:f"`
	AppliedFile
}

func (r appliedFileRow) file() AppliedFile {
	r.AppliedAt = r.AppliedAt.UTC()
	return r.AppliedFile
}

// maxAppliedFiles is the maximum number of files that are remembered.
const maxAppliedFiles = 100

// AppliedFiles returns the last 100 bootstrap files that were applied, the newest first.
func (s *Store) AppliedFiles(ctx context.Context) ([]AppliedFile, error) {
	all, err := selectAll(ctx, s.querier(), noTenant, s.db.NewSelect().Model((*appliedFileRow)(nil)).
		OrderExpr("applied_at DESC, hash").Limit(maxAppliedFiles).String(), appliedFileRow.file)
	return all, translate("list the applied files", err)
}

// SaveAppliedFile makes a bootstrap file the newest one that was applied.
func (s *Store) SaveAppliedFile(ctx context.Context, f AppliedFile) error {
	if !storable(f.Hash, f.Names) {
		return notStorable("bootstrap file")
	}
	err := s.querier().exec(ctx, noTenant, s.db.NewInsert().Model(&appliedFileRow{AppliedFile: f}).Value("applied_at", "clock_timestamp()").
		On("CONFLICT (hash) DO UPDATE").Set("applied_at = excluded.applied_at, names = excluded.names").String())
	return translate("save the applied file", err)
}

// sharedRow is a row of verifyd.shared_values.
type sharedRow struct {
	bun.BaseModel `bun:"table:verifyd.shared_values,alias:f"`

	Name  string `bun:",pk"`
	Value string
}

// signingKeysName is the name of the row of the signing keys.
const signingKeysName = "signing_keys"

// SigningKeys returns the signing keys that all hosts on this database share. When
// there are none yet, it saves those that generate returns; if several hosts start at
// the same time, all get the same keys.
func (s *Store) SigningKeys(ctx context.Context, generate func() ([]byte, error)) ([]byte, error) {
	load := func() ([]byte, error) {
		r, err := selectRow[sharedRow](ctx, s.querier(), noTenant, s.db.NewSelect().Model(&sharedRow{Name: signingKeysName}).WherePK().String())
		return []byte(r.Value), err
	}
	keys, err := load()
	if isMissing(err) {
		var fresh []byte
		if fresh, err = generate(); err != nil {
			return nil, err
		}
		if !storable(string(fresh)) {
			return nil, notStorable("signing keys")
		}
		insert := s.db.NewInsert().Model(&sharedRow{Name: signingKeysName, Value: string(fresh)}).On("CONFLICT DO NOTHING").String()
		if err = s.querier().exec(ctx, noTenant, insert); err == nil {
			keys, err = load()
		}
	}
	if err != nil {
		return nil, translate("load the signing keys", err)
	}
	return keys, nil
}
