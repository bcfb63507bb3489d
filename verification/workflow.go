// A workflow as the API shows it; its webhook can be added, never changed.

package verification

import (
	"fmt"
	"net/url"
	"time"
	"unicode/utf8"
)

// Workflow is what a tenant starts runs of. Its name, description and limits
// are those of the version that a run would execute.
type Workflow struct {
	ID   WorkflowID
	Slug string // the stable name inside the tenant
	// Name, Description, RunTTLSeconds and AbandonTimeoutSeconds come from the
	// current version.
	Name                  string
	Description           string
	RunTTLSeconds         int64
	AbandonTimeoutSeconds int64
	// Published is the hash of the published version; empty when there is none.
	Published string
	// Latest is the hash of the newest version; empty when there is none.
	Latest              string
	Versions            int // how many versions there are
	LifecycleWebhookURL string
	CreatedAt           time.Time
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

// Current is the hash of the version that a run would execute: the published
// one, else the latest; empty when there is none.
func (w Workflow) Current() string {
	if w.Published != "" {
		return w.Published
	}
	return w.Latest
}

// WithWebhook sets the webhook of a workflow that has none. The url must be
// an absolute http(s) URL; a workflow that has one is ErrConflict.
func (w Workflow) WithWebhook(address string) (Workflow, error) {
	if err := CheckWebhookURL(address); err != nil {
		return Workflow{}, err
	}
	if w.LifecycleWebhookURL != "" {
		return Workflow{}, &Error{
			Kind: ErrConflict, Subject: "workflow",
			Message: "a lifecycle webhook is already configured and cannot be changed",
		}
	}
	w.LifecycleWebhookURL = address
	w.Revision++
	return w, nil
}

// WithoutWebhook takes the webhook away, so that another can be set; a workflow
// that has none is ErrConflict. The API never does this, an operator may.
func (w Workflow) WithoutWebhook() (Workflow, error) {
	if w.LifecycleWebhookURL == "" {
		return Workflow{}, &Error{Kind: ErrConflict, Subject: "workflow", Message: "no lifecycle webhook is configured"}
	}
	w.LifecycleWebhookURL = ""
	w.Revision++
	return w, nil
}

// CheckWebhookURL returns an error unless address is an absolute http(s) URL of
// at most MaxURL characters, without user information or fragment.
func CheckWebhookURL(address string) error {
	if utf8.RuneCountInString(address) > MaxURL {
		return invalid("workflow", "lifecycle_webhook_url", fmt.Sprintf("must be at most %d characters", MaxURL))
	}
	u, err := url.Parse(address)
	bad := err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.Fragment != "" || u.Opaque != "" || !validPort(u.Port())
	if bad {
		return invalid("workflow", "lifecycle_webhook_url",
			"must be an absolute http(s) URL without user information or fragment")
	}
	return nil
}

func validPort(port string) bool {
	if len(port) > 5 {
		return false
	}
	n := 0
	for _, c := range port {
		n = n*10 + int(c-'0')
	}
	return n <= 65535 && (port == "" || n > 0)
}

// Apply makes what an applied definition makes of its workflow: the new
// state and the version that was added. A definition whose content is the
// latest version adds none; an unchanged one changes nothing, and changed is
// false. w is the zero Workflow when there is none yet.
func (w Workflow) Apply(d Definition, now time.Time) (next Workflow, added *Version, changed bool, err error) {
	next = w
	if w.Revision == 0 {
		next = Workflow{ID: d.ID, Slug: d.Workflow, CreatedAt: now}
	}
	if hash := d.VersionHash(); hash != w.Latest {
		added = &Version{Number: w.Versions + 1, Hash: hash, Definition: d, CreatedAt: now}
		next.Latest, next.Versions = hash, added.Number
	}
	if d.Published() {
		next.Published = next.Latest
	}
	if next.Current() == next.Latest {
		next = next.showing(d)
	}
	if d.LifecycleWebhookURL != "" && d.LifecycleWebhookURL != w.LifecycleWebhookURL {
		if w.LifecycleWebhookURL != "" {
			return Workflow{}, nil, false, &Error{
				Kind: ErrConflict, Subject: "workflow",
				Message: "lifecycle_webhook_url differs from the one that is configured, which cannot be changed",
			}
		}
		next.LifecycleWebhookURL = d.LifecycleWebhookURL
	}
	if next == w {
		return w, nil, false, nil
	}
	next.Revision++
	return next, added, true, nil
}

// Publish makes version v the one that runs execute.
func (w Workflow) Publish(v Version) (next Workflow, changed bool) {
	if w.Published == v.Hash {
		return w, false
	}
	next = w.showing(v.Definition)
	next.Published = v.Hash
	next.Revision++
	return next, true
}

func (w Workflow) showing(d Definition) Workflow {
	w.Name, w.Description = d.Name, d.Description
	w.RunTTLSeconds, w.AbandonTimeoutSeconds = d.RunTTLSeconds, d.AbandonTimeoutSeconds
	return w
}
