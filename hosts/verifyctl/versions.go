// The command about the versions of a workflow.

package main

import (
	"context"
	"strconv"

	"github.com/verifyd/verifyd/verification"
)

type workflowVersions struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" optional:"" help:"Print the definition of this version: its hash, or the first 6 digits of it or more."`
	databaseFlag
	tenantFlag
	pageFlags
	jsonFlag
}

// Help is shown below the usage.
func (workflowVersions) Help() string {
	return `The newest come first. Runs execute the published version. The definition of a version is
printed as a workflow file in JSON, as apply takes it.

Examples:

    verifyctl workflow versions onboarding
    verifyctl workflow versions onboarding 4be12a > onboarding.json
    verifyctl workflow publish onboarding 4be12a`
}

// Run prints one page of versions, or the definition of one.
func (c workflowVersions) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		w, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		if c.Version != "" {
			return c.show(ctx, s, db, t.ID, w)
		}
		found, err := db.Versions(ctx, t.ID, w.ID, q)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(pageOf(found, func(v verification.VersionInfo) versionJSON { return versionOf(w, v) }))
		}
		more(s, found)
		names := []string{"NUMBER", "VERSION_HASH", "CREATED_AT", "PUBLISHED", "LATEST"}
		return s.table(names, shapes(found.Data, func(v verification.VersionInfo) []string {
			shape := versionOf(w, v)
			return []string{strconv.Itoa(v.Number), short(v.Hash), shape.CreatedAt.String(), yesNo(shape.Published), yesNo(shape.Latest)}
		}))
	})
}

// show prints the definition of a version.
func (c workflowVersions) show(ctx context.Context, s *session, db *database, t verification.TenantID, w verification.Workflow) error {
	found, err := db.version(ctx, t, w.ID, c.Version)
	if err != nil {
		return err
	}
	v, err := db.Version(ctx, t, w.ID, found.Hash)
	if err != nil {
		return err
	}
	if !c.JSON {
		return s.json(v.Definition)
	}
	shape := versionOf(w, found)
	shape.Definition = &v.Definition
	return s.json(shape)
}

type versionJSON struct {
	Number      int    `json:"number"`
	VersionHash string `json:"version_hash"`
	CreatedAt   moment `json:"created_at"`
	Published   bool   `json:"published"`
	// Latest marks the version that the newest definition made.
	Latest     bool                     `json:"latest"`
	Definition *verification.Definition `json:"definition,omitempty"`
}

func versionOf(w verification.Workflow, v verification.VersionInfo) versionJSON {
	return versionJSON{
		Number: v.Number, VersionHash: v.Hash, CreatedAt: moment(v.CreatedAt),
		Published: v.Hash == w.Published, Latest: v.Hash == w.Latest,
	}
}
