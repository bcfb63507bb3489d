// The commands about the workflows of a tenant.

package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/verifyd/verifyd/verification"
)

type workflowList struct {
	databaseFlag
	tenantFlag
	pageFlags
	jsonFlag
}

// Help is shown below the usage.
func (workflowList) Help() string {
	return `The newest come first. VERSION_HASH is the version that a run executes.

Examples:

    verifyctl workflow list --tenant Acme
    verifyctl workflow list --tenant Acme --limit 200 --json`
}

// Run prints one page of workflows.
func (c workflowList) Run(ctx context.Context, s *session) error {
	q, err := c.page()
	if err != nil {
		return err
	}
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
		found, err := db.Workflows(ctx, t.ID, q)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(pageOf(found, workflowOf))
		}
		more(s, found)
		names := []string{"ID", "WORKFLOW", "NAME", "VERSIONS", "PUBLISHED", "VERSION_HASH", "LIFECYCLE_WEBHOOK_URL"}
		return s.table(names, shapes(found.Data, func(w verification.Workflow) []string {
			return []string{
				string(w.ID), w.Slug, w.Name, strconv.Itoa(w.Versions), yesNo(w.Published != ""), short(w.Current()), w.LifecycleWebhookURL,
			}
		}))
	})
}

type workflowPublish struct {
	Workflow string `arg:"" help:"The workflow: its stable name or its id."`
	Version  string `arg:"" help:"The version: its hash, or the first 6 digits of it or more."`
	databaseFlag
	tenantFlag
	jsonFlag
}

// Help is shown below the usage.
func (workflowPublish) Help() string {
	return `Runs that start from now on execute the version. Those under way stay on theirs.

Example:

    verifyctl workflow publish --tenant Acme onboarding 4be12a`
}

// Run publishes a version, and prints which one it is.
func (c workflowPublish) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		t, err := db.tenant(ctx, c.tenantFlag)
		if err != nil {
			return err
		}
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
			s.tellFile("workflow " + w.Slug)
		}
		if c.JSON {
			return s.json(workflowOf(w))
		}
		_, err = fmt.Fprintf(s.stdout, "%s: runs execute %s\n", oneLine(w.Slug), short(w.Published))
		return err
	})
}

type workflowJSON struct {
	ID                    verification.WorkflowID `json:"id"`
	Workflow              string                  `json:"workflow"` // its stable name
	Name                  string                  `json:"name"`
	Description           string                  `json:"description,omitempty"`
	Published             bool                    `json:"published"`
	RunTTLSeconds         int64                   `json:"run_ttl_seconds"`
	AbandonTimeoutSeconds int64                   `json:"abandon_timeout_seconds"`
	LifecycleWebhookURL   string                  `json:"lifecycle_webhook_url,omitempty"`
	CreatedAt             moment                  `json:"created_at"`
	Versions              int                     `json:"versions"`
	// VersionHash is the version that a run executes.
	VersionHash string `json:"version_hash"`
	LatestHash  string `json:"latest_version_hash"`
}

func workflowOf(w verification.Workflow) workflowJSON {
	return workflowJSON{
		ID: w.ID, Workflow: w.Slug, Name: w.Name, Description: w.Description, Published: w.Published != "",
		RunTTLSeconds: w.RunTTLSeconds, AbandonTimeoutSeconds: w.AbandonTimeoutSeconds,
		LifecycleWebhookURL: w.LifecycleWebhookURL, CreatedAt: moment(w.CreatedAt), Versions: w.Versions,
		VersionHash: w.Current(), LatestHash: w.Latest,
	}
}
