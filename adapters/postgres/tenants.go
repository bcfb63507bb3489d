// Tenants and their accounts.

package postgres

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

// selectAccount always selects one row, so that an unknown client id costs the same
// work as a known one. For an unknown one, client_id is empty.
const selectAccount = `
SELECT coalesce(a.client_id, '') AS client_id, coalesce(a.tenant_id::text, '') AS tenant_id, coalesce(a.key_hash, '') AS key_hash,
    coalesce(a.previous_key_hash, '') AS previous_key_hash, a.previous_until,
    coalesce(a.disabled, false) AS disabled, coalesce(a.surfaces, '{}') AS surfaces, coalesce(a.from_file, false) AS from_file
FROM (VALUES (1)) AS one LEFT JOIN verifyd.accounts a ON a.client_id = $1`

// tenantRow is a row of verifyd.tenants.
type tenantRow struct {
	bun.BaseModel `bun:"table:verifyd.tenants,alias:t"`

	TenantID              verification.TenantID `bun:",pk"`
	Name                  string
	Zone                  string
	RedirectAllowlist     []string `bun:",array"`
	WebhookSecret         string
	PreviousWebhookSecret string
	Colour                string
	Logo                  string
	PrivacyURL            string
	HelpURL               string
	LegalURL              string
	Phone                 string
	Retention             verification.Retention `bun:"type:jsonb"`
}

// savedTenantRow also has the content of the logo, which only Logo reads.
type savedTenantRow struct {
	bun.BaseModel `bun:"table:verifyd.tenants,alias:t"`
	tenantRow

	LogoContent []byte
}

// logoRow is the logo of a row of verifyd.tenants.
type logoRow struct {
	bun.BaseModel `bun:"table:verifyd.tenants,alias:t"`

	Logo        string
	LogoContent []byte
}

func (r tenantRow) tenant() verification.Tenant {
	t := verification.Tenant{
		ID: r.TenantID, Name: r.Name, Zone: r.Zone,
		WebhookSecret: r.WebhookSecret, PreviousWebhookSecret: r.PreviousWebhookSecret, Colour: r.Colour,
		Logo:      verification.Logo{Name: r.Logo},
		Links:     verification.PageLinks{Privacy: r.PrivacyURL, Help: r.HelpURL, Legal: r.LegalURL, Phone: r.Phone},
		Retention: r.Retention,
	}
	if len(r.RedirectAllowlist) > 0 {
		t.RedirectAllowlist = r.RedirectAllowlist
	}
	return t
}

// accountRow is a row of verifyd.accounts.
type accountRow struct {
	bun.BaseModel `bun:"table:verifyd.accounts,alias:a"`

	ClientID        string `bun:",pk"`
	TenantID        verification.TenantID
	KeyHash         []byte
	PreviousKeyHash []byte
	PreviousUntil   *time.Time
	Disabled        bool
	Surfaces        []string `bun:",array"`
	FromFile        bool
}

func (r accountRow) account() verification.Account {
	a := verification.Account{ClientID: r.ClientID, Tenant: r.TenantID, Disabled: r.Disabled, FromFile: r.FromFile}
	copy(a.KeyHash[:], r.KeyHash)
	copy(a.PreviousKeyHash[:], r.PreviousKeyHash)
	if r.PreviousUntil != nil {
		a.PreviousUntil = r.PreviousUntil.UTC()
	}
	for _, surface := range r.Surfaces {
		a.Surfaces = append(a.Surfaces, verification.Surface(surface))
	}
	return a
}

// loadTenant returns a tenant whose logo has no content, or ErrNotFound.
func loadTenant(ctx context.Context, q querier, id verification.TenantID) (verification.Tenant, error) {
	if !areUUIDs(id) {
		return verification.Tenant{}, verification.NotFound("tenant")
	}
	r, err := selectRow[tenantRow](ctx, q, string(id), q.db.NewSelect().Model((*tenantRow)(nil)).Where("tenant_id = ?", id).String())
	if isMissing(err) {
		err = verification.NotFound("tenant")
	}
	if err != nil {
		return verification.Tenant{}, pgerror.Translate("load tenant "+string(id), err)
	}
	return r.tenant(), nil
}

// loadLogo returns a tenant that has only its logo, or ErrNotFound.
func (s *Store) loadLogo(ctx context.Context, id verification.TenantID) (verification.Tenant, error) {
	r, err := selectRow[logoRow](ctx, s.querier(), string(id),
		s.db.NewSelect().Model((*logoRow)(nil)).Where("tenant_id = ? AND logo <> ''", id).String())
	if isMissing(err) {
		err = verification.NotFound("logo")
	}
	return verification.Tenant{ID: id, Logo: verification.Logo{Name: r.Logo, Content: r.LogoContent}},
		pgerror.Translate("load the logo of tenant "+string(id), err)
}

// tenantSave returns the statement that saves a tenant.
func (s *Store) tenantSave(t verification.Tenant) (string, error) {
	if err := verification.ValidateTenantID(t.ID); err != nil {
		return "", err
	}
	r := savedTenantRow{LogoContent: append([]byte{}, t.Logo.Content...), tenantRow: tenantRow{
		TenantID: t.ID, Name: t.Name, Zone: t.Zone, RedirectAllowlist: append([]string{}, t.RedirectAllowlist...),
		WebhookSecret: t.WebhookSecret, PreviousWebhookSecret: t.PreviousWebhookSecret, Colour: t.Colour,
		Logo: t.Logo.Name, PrivacyURL: t.Links.Privacy, HelpURL: t.Links.Help, LegalURL: t.Links.Legal, Phone: t.Links.Phone, Retention: t.Retention,
	}}
	if !storable(t.Name, t.Zone, t.WebhookSecret, t.PreviousWebhookSecret, t.Colour, r.Logo, r.PrivacyURL, r.HelpURL, r.LegalURL, r.Phone) || !storable(t.RedirectAllowlist...) {
		return "", notStorable("tenant")
	}
	save := s.db.NewInsert().Model(&r).On("CONFLICT (tenant_id) DO UPDATE")
	if t.Logo.Name != "" && len(t.Logo.Content) == 0 {
		save.ExcludeColumn("logo_content")
	}
	return save.String(), nil
}

// loadAccount returns the account of a client id, or ErrNotFound. It searches
// every tenant, because the caller does not know the tenant yet.
func (s *Store) loadAccount(ctx context.Context, clientID string) (verification.Account, error) {
	if !storable(clientID) {
		return verification.Account{}, verification.NotFound("account")
	}
	r, err := selectRow[accountRow](ctx, s.querier(), everyTenant, stmtAccount, clientID)
	if err == nil && r.ClientID == "" {
		err = verification.NotFound("account")
	}
	if err != nil {
		return verification.Account{}, pgerror.Translate("load account", err)
	}
	return r.account(), nil
}

// accountSave returns the statement that saves an account. It changes no row if another tenant has its client id.
func (s *Store) accountSave(a verification.Account) (string, error) {
	r := accountRow{ClientID: a.ClientID, TenantID: a.Tenant, KeyHash: a.KeyHash[:], Disabled: a.Disabled, Surfaces: []string{}, FromFile: a.FromFile, PreviousKeyHash: []byte{}}
	if a.PreviousKeyHash != ([32]byte{}) {
		r.PreviousKeyHash = a.PreviousKeyHash[:]
	}
	if !a.PreviousUntil.IsZero() {
		r.PreviousUntil = &a.PreviousUntil
	}
	for _, surface := range a.Surfaces {
		r.Surfaces = append(r.Surfaces, string(surface))
	}
	if !storable(a.ClientID) || !storable(r.Surfaces...) {
		return "", notStorable("account")
	}
	return s.db.NewInsert().Model(&r).On("CONFLICT (client_id) DO UPDATE").Where("a.tenant_id = excluded.tenant_id").String(), nil
}
