// Workflows, their versions and their webhook.

package workflow

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// Workflow is a workflow of a tenant. Its name, description and limits are those
// of the current version, which a new run executes.
type Workflow struct {
	ID   verification.WorkflowID
	Slug string // the stable name inside the tenant
	// Name, Description, RunTTLSeconds and AbandonTimeoutSeconds come from the
	// current version.
	Name                  string
	Description           string
	RunTTLSeconds         int64
	AbandonTimeoutSeconds int64
	// PublishedHash is the hash of the published version; empty if there is none.
	PublishedHash string
	// LatestHash is the hash of the newest version; empty if there is none.
	LatestHash          string
	Versions            int // the number of versions
	LifecycleWebhookURL string
	// WebhookFromFile reports whether a definition has set LifecycleWebhookURL. Then another one may replace it.
	WebhookFromFile bool
	// Retired reports whether the workflow takes no new runs. Runs that have started go on.
	Retired bool
	// Retention is the policy for the runs of the workflow: see verification.Retention.Merge.
	Retention verification.Retention
	CreatedAt time.Time
	// Revision counts the changes, 1 for the first.
	Revision int
}

// Version is an immutable definition of a workflow.
type Version struct {
	Number     int // 1 for the first
	Hash       string
	Definition Definition
	CreatedAt  time.Time
}

// VersionInfo is a version without its definition, as lists show it.
type VersionInfo struct {
	Number    int
	Hash      string
	CreatedAt time.Time
}

// MaxWorkflows is how many workflows a tenant may have.
const MaxWorkflows = 10_000

// MaxVersions is how many versions a workflow may have.
const MaxVersions = 10_000

// RoomForWorkflow returns verification.ErrConflict if a tenant with n workflows takes no more.
func RoomForWorkflow(n int) error {
	if n < MaxWorkflows {
		return nil
	}
	return verification.Conflict("workflow", fmt.Sprintf("the tenant has %d workflows, and takes no more: change one of them", n))
}

// RoomForVersion returns verification.ErrConflict if the workflow takes no more versions.
func (w Workflow) RoomForVersion() error {
	if w.Versions < MaxVersions {
		return nil
	}
	return verification.Conflict("workflow", fmt.Sprintf("the workflow has %d versions, and takes no more: give the next one another name", w.Versions))
}

// Current returns the hash of the version that a new run executes: the published
// one, else the latest; empty if there is none.
func (w Workflow) Current() string {
	return cmp.Or(w.PublishedHash, w.LatestHash)
}

// ErrHasWebhook is returned when a workflow has a lifecycle webhook, which cannot be
// changed. It is an verification.ErrConflict.
var ErrHasWebhook error = verification.Conflict("workflow", "a lifecycle webhook is already configured and cannot be changed")

// WithWebhook returns the workflow with a lifecycle webhook. It returns
// verification.ErrInvalid if ValidateWebhookURL does, and ErrHasWebhook if the workflow has a
// webhook.
func (w Workflow) WithWebhook(address string) (Workflow, error) {
	if err := ValidateWebhookURL(address); err != nil {
		return Workflow{}, err
	}
	if w.LifecycleWebhookURL != "" {
		return Workflow{}, ErrHasWebhook
	}
	w.LifecycleWebhookURL = address
	w.Revision++
	return w, nil
}

// WithoutWebhook returns the workflow without its lifecycle webhook, so that the
// client can set another. It returns verification.ErrConflict if there is none.
func (w Workflow) WithoutWebhook() (Workflow, error) {
	if w.LifecycleWebhookURL == "" {
		return Workflow{}, verification.Conflict("workflow", "no lifecycle webhook is configured")
	}
	w.LifecycleWebhookURL, w.WebhookFromFile = "", false
	w.Revision++
	return w, nil
}

// ErrRetired is returned when a retired workflow is to start a run. It is an verification.ErrConflict.
var ErrRetired error = verification.ConflictFor("workflow_retired", "workflow", "the workflow is retired: it takes no new runs")

// Retire returns the workflow as a retired one, or as one that is not.
func (w Workflow) Retire(retired bool) Workflow {
	if w.Retired != retired {
		w.Retired = retired
		w.Revision++
	}
	return w
}

// ValidateWebhookURL returns verification.ErrInvalid unless address is an absolute http(s) URL
// of at most 2048 characters, without spaces, control characters, user information or
// fragment.
func ValidateWebhookURL(address string) error {
	if utf8.RuneCountInString(address) > texts.MaxURL {
		return verification.InvalidField("workflow", "lifecycle_webhook_url", texts.TooLong(texts.MaxURL))
	}
	u, err := url.Parse(address)
	unspaced := strings.Join(strings.Fields(address), "") == address
	bad := err != nil || !unspaced || strings.ContainsFunc(address, texts.IsControl) || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.Fragment != "" || u.Opaque != "" || !validPort(u.Port())
	if bad {
		return verification.InvalidField("workflow", "lifecycle_webhook_url",
			"must be an absolute http(s) URL without user information or fragment")
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0 && len(port) <= 5
}

// Apply returns the workflow after a definition was applied, and the version that
// was added. A definition with the content of the latest version adds none. If
// nothing differs, changed is false. w is the zero Workflow if there is none yet.
// The error is verification.ErrConflict if the definition has another webhook than the one that a client has set.
func (w Workflow) Apply(d Definition, now time.Time) (next Workflow, added *Version, changed bool, err error) {
	next = w
	if w.Revision == 0 {
		next = Workflow{ID: d.ID, Slug: d.Workflow, CreatedAt: now}
	}
	if hash := d.VersionHash(); hash != w.LatestHash {
		added = &Version{Number: w.Versions + 1, Hash: hash, Definition: d, CreatedAt: now}
		next.LatestHash, next.Versions = hash, added.Number
	}
	if d.Published() {
		next.PublishedHash = next.LatestHash
	}
	if next.Current() == next.LatestHash {
		next = next.showing(d)
	}
	next.Retired, next.Retention = d.Retired, d.Retention
	if d.LifecycleWebhookURL != "" && d.LifecycleWebhookURL != w.LifecycleWebhookURL {
		if w.LifecycleWebhookURL != "" && !w.WebhookFromFile {
			return Workflow{}, nil, false, &verification.Error{
				Kind: verification.ErrConflict, Subject: "workflow", Fields: []verification.FieldError{{
					Name:    "lifecycle_webhook_url",
					Message: "differs from the one that a client has set, which stays: remove it here, or run verifyctl webhook clear " + w.Slug + " first",
				}},
			}
		}
		next.LifecycleWebhookURL, next.WebhookFromFile = d.LifecycleWebhookURL, true
	}
	if next == w {
		return w, nil, false, nil
	}
	next.Revision++
	return next, added, true, nil
}

// Publish returns the workflow with v as its published version, and whether that
// is a change.
func (w Workflow) Publish(v Version) (next Workflow, changed bool) {
	if w.PublishedHash == v.Hash {
		return w, false
	}
	next = w.showing(v.Definition)
	next.PublishedHash = v.Hash
	next.Revision++
	return next, true
}

func (w Workflow) showing(d Definition) Workflow {
	w.Name, w.Description = d.Name, d.Description
	w.RunTTLSeconds, w.AbandonTimeoutSeconds = d.RunTTLSeconds, d.AbandonTimeoutSeconds
	return w
}
