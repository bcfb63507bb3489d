// The commands about reviewers.

package main

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type reviewerCommands struct {
	SignOut reviewerSignOut `cmd:"" help:"End the sessions and tokens of a reviewer." see:"console.md#signing-out-a-reviewer"`
}

type reviewerSignOut struct {
	Identity string `arg:"" help:"What identifies the reviewer: ISSUER#SUBJECT for a person who signs in at an identity provider, else the name."`
	tenantFlags
	jsonFlag
}

type signOutJSON struct {
	Identity string             `json:"identity"`
	At       apitypes.Timestamp `json:"signed_out_at"`
}

// Run signs the reviewer out. Hosts follow within a second.
func (c reviewerSignOut) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		out := pgadmin.SignOut{Tenant: t.ID, Identity: c.Identity, At: s.clock.Now().UTC().Truncate(time.Second)}
		if err := db.SaveSignOut(ctx, out); err != nil {
			return err
		}
		if err := s.audit(ctx, db, store.AuditEntry{Tenant: t.ID, Action: store.AuditReviewerSignedOut, Subject: c.Identity}); err != nil {
			return err
		}
		return s.say(c.JSON, signOutJSON{c.Identity, apitypes.Timestamp{Time: out.At}}, "%s: signed out; sessions and tokens until now are refused", oneLine(c.Identity))
	})
}

// copySignOuts copies who was signed out, and appends its row.
func copySignOuts(ctx context.Context, from, to *copySide, rows []copyRow) ([]copyRow, error) {
	all, err := from.files.SignOuts(ctx)
	if err != nil || len(all) == 0 {
		return rows, err
	}
	for _, one := range all {
		if err := to.files.SaveSignOut(ctx, one); err != nil {
			return nil, err
		}
	}
	kept, err := to.files.SignOuts(ctx)
	if err != nil {
		return nil, err
	}
	row := storecopy.Row{Kind: "signed-out reviewers", Source: storecopy.Sum{Count: len(all)}, Target: storecopy.Sum{Count: len(kept)}}
	if row.Source != row.Target {
		row.Difference = "not the same in both"
	}
	return append(rows, newCopyRow(row)), nil
}
