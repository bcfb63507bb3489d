// The commands about the workflows of a tenant, and their versions.

package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

type workflowList struct {
	tenantFlags
	pageFlags
	jsonFlag
}

// workflowJSON is a workflow as lists of the API show it, and what only operators
// see.
type workflowJSON struct {
	apitypes.Workflow
	Slug        string `json:"workflow"` // the stable name
	Versions    int    `json:"versions"`
	VersionHash string `json:"version_hash"` // the version that runs execute
	LatestHash  string `json:"latest_version_hash"`
}

func newWorkflowJSON(w verification.Workflow) workflowJSON {
	return workflowJSON{apitypes.NewWorkflow(w), w.Slug, w.Versions, w.Current(), w.Latest}
}

// Run prints one page of workflows.
func (c workflowList) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		found, err := db.Workflows(ctx, t.ID, q)
		if err != nil {
			return err
		}
		return printPage(s, c.JSON, found, newWorkflowJSON, "ID WORKFLOW NAME VERSIONS PUBLISHED VERSION_HASH LIFECYCLE_WEBHOOK_URL", func(w workflowJSON) []string {
			return []string{
				string(w.ID), w.Slug, w.Name, strconv.Itoa(w.Versions), yesNo(w.Published), short(w.VersionHash), w.LifecycleWebhookURL,
			}
		})
	})
}

type workflowPublish struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" help:"The version: its hash, or at least the first 6 digits of it."`
	tenantFlags
	jsonFlag
}

// Run publishes a version and prints its hash.
func (c workflowPublish) Run(ctx context.Context, s *session) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		v, err := db.version(ctx, t.ID, before.ID, c.Version)
		if err != nil {
			return err
		}
		e, err := s.engine(db)
		if err != nil {
			return err
		}
		w, err := e.Publish(ctx, t.ID, before.ID, v.Hash)
		if err != nil {
			return err
		}
		if before.Published != w.Published {
			s.noteBootstrap("workflow " + w.Slug)
		}
		if c.JSON {
			return s.json(newWorkflowJSON(w))
		}
		_, err = fmt.Fprintf(s.stdout, "%s: runs execute %s\n", oneLine(w.Slug), short(w.Published))
		return err
	})
}

type workflowVersions struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" optional:"" help:"Print the definition of this version: its hash, or at least the first 6 digits of it."`
	tenantFlags
	pageFlags
	jsonFlag
}

type versionJSON struct {
	Number      int                      `json:"number"`
	VersionHash string                   `json:"version_hash"`
	CreatedAt   apitypes.Timestamp       `json:"created_at"`
	Published   bool                     `json:"published"`
	Latest      bool                     `json:"latest"` // the version of the newest definition
	Definition  *verification.Definition `json:"definition,omitempty"`
}

func newVersionJSON(w verification.Workflow, v verification.VersionInfo) versionJSON {
	return versionJSON{
		Number: v.Number, VersionHash: v.Hash, CreatedAt: apitypes.Timestamp{Time: v.CreatedAt},
		Published: v.Hash == w.Published, Latest: v.Hash == w.Latest,
	}
}

// Run prints one page of versions, or the definition of one.
func (c workflowVersions) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
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
		convert := func(v verification.VersionInfo) versionJSON { return newVersionJSON(w, v) }
		return printPage(s, c.JSON, found, convert, "NUMBER VERSION_HASH CREATED_AT PUBLISHED LATEST", func(v versionJSON) []string {
			return []string{strconv.Itoa(v.Number), short(v.VersionHash), v.CreatedAt.String(), yesNo(v.Published), yesNo(v.Latest)}
		})
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
	out := newVersionJSON(w, found)
	out.Definition = &v.Definition
	return s.json(out)
}
