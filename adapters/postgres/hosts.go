// The hosts that are alive, for operators.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// HostTimeout is how long a host may go without a heartbeat before it counts as
// dead.
const HostTimeout = time.Minute

// hostsKept is how long hosts that died stay in the list.
const hostsKept = 24 * time.Hour

// Host is a process on this database, as its heartbeats describe it.
type Host struct {
	ID        string // a UUID, new at each start
	Name      string // of the machine
	Roles     []string
	Version   string
	StartedAt time.Time // by the clock of the host
	// SeenAt is the time of the last heartbeat, by the clock of the database, and
	// Alive reports whether that is less than HostTimeout ago. SaveHost ignores
	// both.
	SeenAt time.Time
	Alive  bool
}

// hostRow is a host as it is kept.
type hostRow struct {
	bun.BaseModel `bun:"table:verifyd.hosts,alias:h"`

	ID        string `bun:",pk"`
	Name      string
	Roles     []string `bun:",array"`
	Version   string
	StartedAt time.Time
	SeenAt    time.Time
	Alive     bool `bun:",scanonly"`
}

// SaveHost records a heartbeat of a host. Call it every few seconds, so that
// operators see the host.
func (s *Store) SaveHost(ctx context.Context, h Host) error {
	if !plain(h.ID, h.Name, h.Version) || !plain(h.Roles...) {
		return unkept("host")
	}
	r := hostRow{ID: h.ID, Name: h.Name, Roles: append([]string{}, h.Roles...), Version: h.Version, StartedAt: h.StartedAt}
	err := s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&r).Value("seen_at", "clock_timestamp()").
			On("CONFLICT (id) DO UPDATE").Set("seen_at = excluded.seen_at").Exec(ctx)
		return err
	})
	return translate("save host "+h.ID, err)
}

// RemoveHost removes a host that stops.
func (s *Store) RemoveHost(ctx context.Context, id string) error {
	err := s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewDelete().Model((*hostRow)(nil)).Where("id = ?", id).Exec(ctx)
		return err
	})
	return translate("remove host "+id, err)
}

// Hosts lists the hosts that did not stop cleanly, by name and start, dead ones
// for a day after their last heartbeat.
func (s *Store) Hosts(ctx context.Context) ([]Host, error) {
	var rows []hostRow
	err := s.read(ctx, noTenant, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewSelect().Model(&rows).ColumnExpr("h.*").
			ColumnExpr("seen_at > clock_timestamp() - make_interval(secs => ?) AS alive", HostTimeout.Seconds()).
			OrderExpr("name, started_at, id").Scan(ctx)
	})
	if err != nil {
		return nil, translate("list hosts", err)
	}
	all := make([]Host, len(rows))
	for i, r := range rows {
		all[i] = Host{
			ID: r.ID, Name: r.Name, Roles: r.Roles, Version: r.Version,
			StartedAt: r.StartedAt.UTC(), SeenAt: r.SeenAt.UTC(), Alive: r.Alive,
		}
	}
	return all, nil
}

// forgetHosts removes hosts that died long ago.
func (s *Store) forgetHosts(ctx context.Context) error {
	err := s.transact(ctx, noTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewDelete().Model((*hostRow)(nil)).
			Where("seen_at < clock_timestamp() - make_interval(secs => ?)", hostsKept.Seconds()).Exec(ctx)
		return err
	})
	return translate("remove dead hosts", err)
}
