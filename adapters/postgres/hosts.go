// Hosts: the list of hosts and the signing keys that they share.

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
	"github.com/verifyd/verifyd/verification/store"
)

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
	Level     int       // up to which its build reads a store; SaveHost ignores it
	StartedAt time.Time // by the clock of the host
}

// hostRow is a row of verifyd.hosts.
type hostRow struct {
	bun.BaseModel `bun:"table:verifyd.hosts,alias:h"`
	Host

	SeenAt time.Time // of the last heartbeat, by the clock of the database
}

// SaveHost records a heartbeat of a host, and reads the level of the store. Call it before the host uses the store, and then every
// few seconds: operators see the host, and cannot raise the level above what its build reads. It returns ErrConflict if they did,
// because the host was not there or silent for a minute: then the host must end.
func (s *Store) SaveHost(ctx context.Context, h Host) error {
	if !storable(h.ID, h.Name, h.Address, h.Version, h.Bootstrap, h.Facts) || !storable(h.Roles...) {
		return notStorable("host")
	}
	h.Roles = append([]string{}, h.Roles...) // an empty list for nil
	h.Level = store.Level
	err := s.querier().batch(ctx, noTenant, func(b *pgx.Batch) error {
		b.Queue(s.db.NewInsert().Model(&hostRow{Host: h}).Value("seen_at", "clock_timestamp()").
			On("CONFLICT (id) DO UPDATE").Set("seen_at = excluded.seen_at, facts = excluded.facts, bootstrap = excluded.bootstrap").String())
		s.queueLevel(b) // in the same transaction, after the row: see pgadmin.Database.RaiseLevel
		return nil
	})
	return pgerror.Translate("save host "+h.ID, err)
}

// Level implements store.Leveled: it returns the level that Open or the last SaveHost has read.
func (s *Store) Level() int { return int(s.level.Load()) }

// readLevel reads the level, and returns ErrConflict if it is above the one that this build reads.
func (s *Store) readLevel(ctx context.Context) error {
	err := s.querier().batch(ctx, noTenant, func(b *pgx.Batch) error {
		s.queueLevel(b)
		return nil
	})
	return pgerror.Translate("read the level of the database", err)
}

func (s *Store) queueLevel(b *pgx.Batch) {
	b.Queue(pgschema.ReadLevel).QueryRow(func(row pgx.Row) error {
		var level int
		if err := row.Scan(&level); err != nil {
			return err
		}
		s.level.Store(int64(level))
		return store.CheckLevel(level, store.Level)
	})
}

// RemoveHost removes a host that stops.
func (s *Store) RemoveHost(ctx context.Context, id string) error {
	err := s.querier().exec(ctx, noTenant, s.db.NewDelete().Model(&hostRow{Host: Host{ID: id}}).WherePK().String())
	return pgerror.Translate("remove host "+id, err)
}

// removeDeadHosts removes hosts that died more than deadHostLife ago.
func (s *Store) removeDeadHosts(ctx context.Context) error {
	err := s.querier().exec(ctx, noTenant, s.db.NewDelete().Model((*hostRow)(nil)).
		Where("seen_at < clock_timestamp() - make_interval(secs => ?)", deadHostLife.Seconds()).String())
	return pgerror.Translate("remove dead hosts", err)
}

// sharedRow is a row of verifyd.shared_values.
type sharedRow struct {
	bun.BaseModel `bun:"table:verifyd.shared_values,alias:f"`

	Name  string `bun:",pk"`
	Value string
}

// The names of rows.
const (
	signingKeysName = "signing_keys"
	searchCheckName = "search_check"
)

// SigningKeys returns the signing keys that all hosts on this database share. When
// there are none yet, it saves those that generate returns; if several hosts start at
// the same time, all get the same keys.
func (s *Store) SigningKeys(ctx context.Context, generate func() ([]byte, error)) ([]byte, error) {
	return s.shared(ctx, signingKeysName, generate)
}

// SearchCheck returns the value with which it was first called on this database, by any host.
// The value tells search keys apart, and is not secret. If it is empty, SearchCheck changes
// nothing, and returns the empty string if no other value was given before.
func (s *Store) SearchCheck(ctx context.Context, value string) (first string, err error) {
	raw, err := s.shared(ctx, searchCheckName, func() ([]byte, error) {
		if value == "" {
			return nil, errNoValue
		}
		return []byte(value), nil
	})
	if errors.Is(err, errNoValue) {
		return "", nil
	}
	return string(raw), err
}

var errNoValue = errors.New("there is no value")

// shared returns the value of a row. If there is none, it saves what generate returns.
func (s *Store) shared(ctx context.Context, name string, generate func() ([]byte, error)) ([]byte, error) {
	load := func() ([]byte, error) {
		r, err := selectRow[sharedRow](ctx, s.querier(), noTenant, s.db.NewSelect().Model(&sharedRow{Name: name}).WherePK().String())
		return []byte(r.Value), err
	}
	value, err := load()
	if isMissing(err) {
		var fresh []byte
		if fresh, err = generate(); err != nil {
			return nil, err
		}
		if !storable(string(fresh)) {
			return nil, notStorable("shared value")
		}
		insert := s.db.NewInsert().Model(&sharedRow{Name: name, Value: string(fresh)}).On("CONFLICT DO NOTHING").String()
		if err = s.querier().exec(ctx, noTenant, insert); err == nil {
			value, err = load()
		}
	}
	if err != nil {
		return nil, pgerror.Translate("load the shared value "+name, err)
	}
	return value, nil
}
