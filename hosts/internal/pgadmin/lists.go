// What was accepted of the lists that are screened against.

package pgadmin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// AcceptedList is what counts as a whole version of a list. It belongs to no tenant.
type AcceptedList struct {
	List    string
	Entries int // of the last version that was accepted; 0 for none
	// Versions are the versions that an operator accepted although they had lost entries, the newest first.
	Versions []string
}

// maxAcceptedVersions is the maximum number of versions of a list that are kept.
const maxAcceptedVersions = 20

// With returns what was accepted with a later acceptance: its versions are added, and its entries replace
// those of before unless they are 0.
func (l AcceptedList) With(later AcceptedList) AcceptedList {
	l.List = later.List
	if later.Entries > 0 {
		l.Entries = later.Entries
	}
	versions := slices.Clone(later.Versions)
	for _, v := range l.Versions {
		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	l.Versions = versions[:min(len(versions), maxAcceptedVersions)]
	return l
}

// acceptedPrefix is how the names of the rows of verifyd.shared_values begin that say what was accepted.
const acceptedPrefix = "list:"

type acceptedRow struct{ Name, Value string }

func (r acceptedRow) list() (l AcceptedList, err error) {
	if err = json.Unmarshal([]byte(r.Value), &l); err != nil {
		err = fmt.Errorf("decode the shared value %s: %w", r.Name, err)
	}
	return l, err
}

// AcceptedLists returns what was accepted of each list, in the order of their names.
func (d Database) AcceptedLists(ctx context.Context) (all []AcceptedList, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := collect[acceptedRow](ctx, tx, "SELECT name, value FROM verifyd.shared_values WHERE starts_with(name, $1) ORDER BY name", acceptedPrefix)
		for _, r := range rows {
			l, err := r.list()
			if err != nil {
				return err
			}
			all = append(all, l)
		}
		return err
	})
	return all, pgerror.Translate("read the accepted lists", err)
}

// SaveAcceptedList adds to what was accepted of a list, see AcceptedList.With.
func (d Database) SaveAcceptedList(ctx context.Context, l AcceptedList) error {
	const (
		begin = "INSERT INTO verifyd.shared_values (name, value) VALUES ($1, '{}') ON CONFLICT (name) DO NOTHING"
		lock  = "SELECT name, value FROM verifyd.shared_values WHERE name = $1 FOR UPDATE"
		save  = "UPDATE verifyd.shared_values SET value = $2 WHERE name = $1"
	)
	name := acceptedPrefix + l.List
	err := d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, begin, name); err != nil {
			return err
		}
		rows, err := collect[acceptedRow](ctx, tx, lock, name)
		if err != nil {
			return err
		}
		before, err := rows[0].list()
		if err != nil {
			return err
		}
		raw, err := json.Marshal(before.With(l))
		if err == nil {
			_, err = tx.Exec(ctx, save, name, string(raw))
		}
		return err
	})
	return pgerror.Translate("save what was accepted of the list "+l.List, err)
}
