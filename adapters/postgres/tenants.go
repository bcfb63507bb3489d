// Tenants and the accounts that act for them.

package postgres

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// selectAccount selects one row, and its last column says whether there is such
// an account, so that an unknown client costs the same work as a known one.
const selectAccount = `
SELECT coalesce(a.tenant_id::text, ''), coalesce(a.key_hash, ''), coalesce(a.disabled, false), coalesce(a.surfaces, '{}'),
    a.client_id IS NOT NULL
FROM (VALUES (1)) AS one LEFT JOIN verifyd.accounts a ON a.client_id = $1`

// tenantRow is a tenant as it is kept.
type tenantRow struct {
	bun.BaseModel `bun:"table:verifyd.tenants,alias:t"`

	TenantID              verification.TenantID `bun:",pk"`
	Name                  string
	RedirectAllowlist     []string `bun:",array"`
	WebhookSecret         string
	PreviousWebhookSecret string
	Colour                string
}

func (r tenantRow) tenant() verification.Tenant {
	t := verification.Tenant{
		ID: r.TenantID, Name: r.Name,
		WebhookSecret: r.WebhookSecret, PreviousWebhookSecret: r.PreviousWebhookSecret, Colour: r.Colour,
	}
	if len(r.RedirectAllowlist) > 0 {
		t.RedirectAllowlist = r.RedirectAllowlist
	}
	return t
}

// accountRow is an account as it is kept.
type accountRow struct {
	bun.BaseModel `bun:"table:verifyd.accounts,alias:a"`

	ClientID string `bun:",pk"`
	TenantID verification.TenantID
	KeyHash  []byte
	Disabled bool
	Surfaces []string `bun:",array"`
}

func (r accountRow) account() verification.Account {
	a := verification.Account{ClientID: r.ClientID, Tenant: r.TenantID, Disabled: r.Disabled}
	copy(a.KeyHash[:], r.KeyHash)
	for _, surface := range r.Surfaces {
		a.Surfaces = append(a.Surfaces, verification.Surface(surface))
	}
	return a
}

// Tenant returns one tenant, or ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return loadTenant(ctx, s.link(), id)
}

func loadTenant(ctx context.Context, l link, id verification.TenantID) (verification.Tenant, error) {
	const selectTenant = `
SELECT tenant_id::text, name, redirect_allowlist, webhook_secret, previous_webhook_secret, colour
FROM verifyd.tenants WHERE tenant_id = $1`
	tenant, err := uuidOf(string(id))
	if err != nil {
		return verification.Tenant{}, notFound("tenant")
	}
	var r tenantRow
	err = l.one(ctx, string(id), selectTenant, []any{tenant},
		&r.TenantID, &r.Name, &r.RedirectAllowlist, &r.WebhookSecret, &r.PreviousWebhookSecret, &r.Colour)
	if missing(err) {
		err = notFound("tenant")
	}
	if err != nil {
		return verification.Tenant{}, translate("load tenant "+string(id), err)
	}
	return r.tenant(), nil
}

// Tenants lists all of them by id.
func (s *Store) Tenants(ctx context.Context) ([]verification.Tenant, error) {
	var rows []tenantRow
	err := s.read(ctx, everyTenant, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewSelect().Model(&rows).OrderExpr("tenant_id").Scan(ctx)
	})
	if err != nil {
		return nil, translate("list tenants", err)
	}
	all := make([]verification.Tenant, len(rows))
	for i, r := range rows {
		all[i] = r.tenant()
	}
	return all, nil
}

// SaveTenant creates or replaces a tenant.
func (s *Store) SaveTenant(ctx context.Context, t verification.Tenant) error {
	r := tenantRow{
		TenantID: t.ID, Name: t.Name, RedirectAllowlist: append([]string{}, t.RedirectAllowlist...),
		WebhookSecret: t.WebhookSecret, PreviousWebhookSecret: t.PreviousWebhookSecret, Colour: t.Colour,
	}
	if !plain(t.Name, t.WebhookSecret, t.PreviousWebhookSecret, t.Colour) || !plain(t.RedirectAllowlist...) {
		return unkept("tenant")
	}
	err := s.write(ctx, t.ID, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&r).On("CONFLICT (tenant_id) DO UPDATE").Exec(ctx)
		return err
	})
	return translate("save tenant "+string(t.ID), err)
}

// Account returns the account of a client identifier, or ErrNotFound. Its tenant
// is not known before, so it is looked for in every tenant.
func (s *Store) Account(ctx context.Context, clientID string) (verification.Account, error) {
	return s.accounts.get(ctx, clientID)
}

func (s *Store) loadAccount(ctx context.Context, clientID string) (verification.Account, error) {
	if !plain(clientID) {
		return verification.Account{}, notFound("account")
	}
	r := accountRow{ClientID: clientID}
	var found bool
	err := s.one(ctx, everyTenant, stmtAccount, []any{clientID}, &r.TenantID, &r.KeyHash, &r.Disabled, &r.Surfaces, &found)
	if err == nil && !found {
		err = notFound("account")
	}
	if err != nil {
		return verification.Account{}, translate("load account", err)
	}
	return r.account(), nil
}

// Accounts lists those of a tenant by client identifier.
func (s *Store) Accounts(ctx context.Context, t verification.TenantID) ([]verification.Account, error) {
	var rows []accountRow
	err := s.read(ctx, t, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		return tx.NewSelect().Model(&rows).Where("tenant_id = ?", t).OrderExpr("client_id").Scan(ctx)
	})
	if err != nil {
		return nil, translate("list accounts", err)
	}
	all := make([]verification.Account, len(rows))
	for i, r := range rows {
		all[i] = r.account()
	}
	return all, nil
}

// SaveAccount creates or replaces an account, or returns ErrConflict. It has to
// see the accounts of every tenant to find out.
func (s *Store) SaveAccount(ctx context.Context, a verification.Account) error {
	r := accountRow{ClientID: a.ClientID, TenantID: a.Tenant, KeyHash: a.KeyHash[:], Disabled: a.Disabled, Surfaces: []string{}}
	for _, surface := range a.Surfaces {
		r.Surfaces = append(r.Surfaces, string(surface))
	}
	if !plain(a.ClientID) || !plain(r.Surfaces...) {
		return unkept("account")
	}
	err := s.transact(ctx, everyTenant, nil, func(ctx context.Context, tx bun.Tx) error {
		result, err := tx.NewInsert().Model(&r).On("CONFLICT (client_id) DO UPDATE").
			Where("a.tenant_id = excluded.tenant_id").Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return conflict("account", "another tenant has that client identifier")
	})
	return translate("save account "+a.ClientID, err)
}

// one asks for one row in one round trip.
func (s *Store) one(ctx context.Context, tenants, statement string, args []any, into ...any) error {
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	return s.link().one(ctx, tenants, statement, args, into...)
}

// one asks for one row in one round trip. The statement is a text, or what say
// calls a prepared one; missing tells when there is no such row.
func (l link) one(ctx context.Context, tenants, statement string, args []any, into ...any) error {
	return l.ask(ctx, tenants, func(b *pgx.Batch) error {
		b.Queue(statement, args...).QueryRow(func(row pgx.Row) error { return row.Scan(into...) })
		return nil
	})
}

// plain tells whether the database gives texts back as they are: it takes no
// NUL, and bun replaces what is not UTF-8.
func plain(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return false
		}
	}
	return true
}

func unkept(subject string) error {
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: subject, Message: "a text holds a character that cannot be kept",
	}
}
