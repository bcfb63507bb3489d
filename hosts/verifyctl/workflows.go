// The commands about workflow files, and about the workflows of a tenant.

package main

import (
	"context"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type workflowCommands struct {
	Validate workflowValidate `cmd:"" help:"Report every problem of workflow files." see:"workflow-recipes.md#checking-a-file"`
	Try      workflowTry      `cmd:"" help:"Play a workflow file in memory, and test it with a file of cases." see:"workflow-recipes.md#testing-a-workflow"`
	Graph    workflowGraph    `cmd:"" help:"Draw the graph of a workflow file." see:"workflow-recipes.md#drawing-a-file"`
	Diff     workflowDiff     `cmd:"" help:"List what differs between two workflow files." see:"workflow-recipes.md#comparing-two-files"`
	List     workflowList     `cmd:"" help:"List the workflows of a tenant."`
	Versions workflowVersions `cmd:"" help:"List the versions of a workflow, or print one."`
	Publish  workflowPublish  `cmd:"" help:"Publish a version, so that new runs execute it." see:"workflow-recipes.md#publishing-a-version"`
	Retire   workflowRetire   `cmd:"" help:"Retire a workflow, so that it takes no new runs." see:"workflow-recipes.md#retiring-a-workflow"`
	Unretire workflowUnretire `cmd:"" help:"Let a retired workflow take new runs again." see:"workflow-recipes.md#retiring-a-workflow"`
}

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
	VersionHash string `json:"version_hash"` // the version that new runs execute
	LatestHash  string `json:"latest_version_hash"`

	Retention verification.Retention `json:"retention,omitzero"`
}

func newWorkflowJSON(w workflow.Workflow) workflowJSON {
	return workflowJSON{apitypes.NewWorkflow(w), w.Slug, w.Versions, w.Current(), w.LatestHash, w.Retention}
}

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
		return printPage(s, c.JSON, found, newWorkflowJSON, "ID WORKFLOW NAME VERSIONS PUBLISHED RETIRED VERSION_HASH LIFECYCLE_WEBHOOK_URL")
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
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		w, err := e.Publish(ctx, t.ID, before.ID, v.Hash)
		if err != nil {
			return err
		}
		if before.PublishedHash != w.PublishedHash {
			s.noteBootstrap("workflow " + w.Slug)
		}
		return s.say(c.JSON, newWorkflowJSON(w), "%s: new runs execute %s", oneLine(w.Slug), short(w.PublishedHash))
	})
}

type workflowRetire struct{ workflowRetirement }

func (c workflowRetire) Run(ctx context.Context, s *session) error { return c.set(ctx, s, true) }

type workflowUnretire struct{ workflowRetirement }

func (c workflowUnretire) Run(ctx context.Context, s *session) error { return c.set(ctx, s, false) }

// workflowRetirement is what retire and unretire share.
type workflowRetirement struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	tenantFlags
	jsonFlag
}

func (c workflowRetirement) set(ctx context.Context, s *session, retired bool) error {
	return c.with(ctx, s, func(db *database, t verification.Tenant) error {
		before, err := db.workflow(ctx, t.ID, c.Workflow)
		if err != nil {
			return err
		}
		e, err := s.engine(db, bootstrap.Providers{})
		if err != nil {
			return err
		}
		w, err := e.Retire(ctx, t.ID, before.ID, retired)
		if err != nil {
			return err
		}
		if w.Retired != before.Retired {
			s.noteBootstrap("workflow " + w.Slug)
		}
		state := "takes new runs"
		if retired {
			state = "takes no new runs; its runs go on"
		}
		return s.say(c.JSON, newWorkflowJSON(w), "%s: %s", oneLine(w.Slug), state)
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
	Number      int                  `json:"number"`
	VersionHash string               `json:"version_hash"`
	CreatedAt   apitypes.Timestamp   `json:"created_at"`
	Published   bool                 `json:"published"`
	Latest      bool                 `json:"latest"` // the version of the newest definition
	Definition  *workflow.Definition `json:"definition,omitempty"`
}

func newVersionJSON(w workflow.Workflow, v workflow.VersionInfo) versionJSON {
	return versionJSON{
		Number: v.Number, VersionHash: v.Hash, CreatedAt: apitypes.Timestamp{Time: v.CreatedAt},
		Published: v.Hash == w.PublishedHash, Latest: v.Hash == w.LatestHash,
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
		convert := func(v workflow.VersionInfo) versionJSON { return newVersionJSON(w, v) }
		return printPage(s, c.JSON, found, convert, "NUMBER VERSION_HASH CREATED_AT PUBLISHED LATEST")
	})
}

func (c workflowVersions) show(ctx context.Context, s *session, db *database, t verification.TenantID, w workflow.Workflow) error {
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
