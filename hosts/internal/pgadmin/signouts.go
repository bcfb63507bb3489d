// Reviewers who were signed out.

package pgadmin

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// SignOut says that the tokens of a reviewer which were issued until a time are refused.
type SignOut struct {
	Tenant   verification.TenantID
	Identity string
	At       time.Time // whole seconds
}

// MaxSignOuts is the maximum number of reviewers who are signed out.
const MaxSignOuts = 10_000

// Hides reports whether a token of a reviewer that was issued at a time is refused.
func (s SignOut) Hides(r verification.Reviewer, issued time.Time) bool {
	return s.Tenant == r.Tenant && s.Identity == r.Identity && !issued.After(s.At)
}

const signOutPrefix = "sign-out:"

// SignOuts returns the last sign-out of each reviewer.
func (d Database) SignOuts(ctx context.Context) (all []SignOut, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := collect[acceptedRow](ctx, tx, "SELECT name, value FROM verifyd.shared_values WHERE starts_with(name, $1) ORDER BY name LIMIT $2",
			signOutPrefix, MaxSignOuts)
		for _, r := range rows {
			var s SignOut
			if err := json.Unmarshal([]byte(r.Value), &s); err != nil {
				return fmt.Errorf("decode the shared value %s: %w", r.Name, err)
			}
			all = append(all, s)
		}
		return err
	})
	return all, pgerror.Translate("read who was signed out", err)
}

// SaveSignOut signs a reviewer out, or returns ErrConflict if too many are.
func (d Database) SaveSignOut(ctx context.Context, s SignOut) error {
	const save = `INSERT INTO verifyd.shared_values (name, value) SELECT $1, $2
WHERE EXISTS (SELECT 1 FROM verifyd.shared_values WHERE name = $1)
    OR (SELECT count(*) FROM verifyd.shared_values WHERE starts_with(name, $3)) < $4
ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode a sign-out: %w", err)
	}
	name := signOutPrefix + fmt.Sprintf("%x", sha256.Sum256([]byte(string(s.Tenant)+" "+s.Identity)))
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, save, name, string(raw), signOutPrefix, MaxSignOuts)
		if err == nil && done.RowsAffected() == 0 {
			err = TooManySignOuts()
		}
		return err
	})
	return pgerror.Translate("sign a reviewer out", err)
}

// TooManySignOuts returns the ErrConflict of SaveSignOut.
func TooManySignOuts() error {
	return verification.Conflict("reviewer", fmt.Sprintf("%d reviewers are signed out, and no more can be: use another signing key, which ends all sessions", MaxSignOuts))
}
