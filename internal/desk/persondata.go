// The data in a person's file: what was given, sent and answered, in the order of time.

package desk

import (
	"maps"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// personEntry is an entry of data.json. Kind says what happened.
type personEntry struct {
	At          time.Time           `json:"at"`
	Kind        personEntryKind     `json:"kind"`
	Step        verification.NodeID `json:"step,omitempty"`
	Label       string              `json:"label,omitempty"`
	ReferenceID string              `json:"reference_id,omitempty"`
	RedirectURI string              `json:"redirect_uri,omitempty"`
	Source      string              `json:"source,omitempty"`      // the name of the provider that was asked
	SentFields  []string            `json:"sent_fields,omitempty"` // the names of what was sent
	Handle      string              `json:"handle,omitempty"`      // by which the source knows its pending result
	Problem     string              `json:"problem,omitempty"`     // why there was no result
	Passed      *bool               `json:"passed,omitempty"`
	Document    *personDocument     `json:"document,omitempty"`
	Language    string              `json:"language,omitempty"` // of the page with the answer
	Data        verification.Data   `json:"data,omitzero"`
	Field       string              `json:"field,omitempty"` // of a correction: the path of the value in the data of the step or, without a step, in the input
	Correction  string              `json:"correction,omitempty"`
	Screening   *rules.Screening    `json:"screening,omitempty"` // only with all that is kept
}

type personEntryKind string

const (
	personOpened     personEntryKind = "opened"
	personUpload     personEntryKind = "uploaded"
	personAnswer     personEntryKind = "answered"
	personAsked      personEntryKind = "source_asked"
	personPending    personEntryKind = "source_pending"
	personFailed     personEntryKind = "source_failed"
	personResult     personEntryKind = "result"
	personNone       personEntryKind = "no_result"
	personElements   personEntryKind = "elements" // the list for whose elements a step is made
	personCannotTell personEntryKind = "source_cannot_tell"
	personStopped    personEntryKind = "stopped"
)

// personDocument is an upload in data.json.
type personDocument struct {
	ID        string `json:"document_id,omitempty"`
	Field     string `json:"field"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256,omitempty"`
}

// data returns the entries of data.json, oldest first.
func (r personRun) data() []personEntry {
	all := []personEntry{}
	for _, event := range r.history {
		about := event.About()
		if about.File != rules.FileData && about.File != rules.FileBoth {
			continue
		}
		e := personEntry{At: event.At, Kind: personEntryKind(about.Kind)}
		switch f := event.Fact.(type) { //nolint:gochecksumtype // a fact without a case has an entry, too
		case rules.Started:
			e.ReferenceID, e.RedirectURI, e.Data = f.ReferenceID, f.RedirectURI, f.Input
		case rules.JourneyOpened:
			e.Kind, e.Step = personOpened, f.Node
		case rules.DocumentUploaded:
			e.Kind, e.Step = personUpload, f.Node
			e.Document = &personDocument{ID: f.Document, Field: f.Field, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256}
		case rules.CustomerSubmitted:
			e.Kind, e.Step, e.Language, e.Data = personAnswer, f.Node, f.Language, f.Data
		case rules.Dispatched:
			e.Kind, e.Step, e.Source, e.SentFields = personAsked, f.Node, f.Provider, r.sent(f.Node)
		case rules.ResultPending:
			e.Kind, e.Step, e.Handle = personPending, f.Node, f.Handle
		case rules.Redirected:
			e.Kind, e.Step, e.Handle = personPending, f.Node, f.Handle
		case rules.GroupBegan:
			if f.Items == nil {
				continue
			}
			e.Kind, e.Step, e.Label, e.Data = personElements, f.Node, f.Label, f.Items
		case rules.NoAnswer:
			e.Kind, e.Step, e.Data = personCannotTell, f.Node, f.Data
		case rules.PollFailed:
			e.Kind, e.Step, e.Problem = personFailed, f.Node, f.Cause
		case rules.DispatchFailed:
			e.Kind, e.Step, e.Problem = personFailed, f.Node, f.Cause
		case rules.ResultRecorded:
			e.Kind, e.Step, e.Passed, e.Data, e.Screening = personResult, f.Node, &f.Passed, f.Data, f.Screening
		case rules.ResultUnavailable:
			e.Kind, e.Step, e.Data = personNone, f.Node, f.Data
		case rules.Failed:
			e.Kind, e.Step, e.Problem = personStopped, f.Node, f.Cause
		case rules.Corrected:
			e.Step, e.Field, e.Correction = f.Node, f.Field, f.Correction
		}
		if step, ok := r.run.Step(e.Step); ok {
			e.Label = step.Label
		}
		if !r.all {
			e = r.told(e)
		}
		all = append(all, e)
	}
	return all
}

// told returns an entry without what may tip the person off: of a check that screened, only
// source_ok and the name of the list stay.
func (r personRun) told(e personEntry) personEntry {
	screening := e.Screening
	e.Screening = nil
	if e.Kind == personStopped && r.hides() { // it may quote what the screening found
		e.Problem = ""
	}
	if e.Kind == personElements && r.hidesList(e.Step) { // it may be what the screening found
		e.Data = nil
	}
	if !r.screened[e.Step] {
		return e
	}
	kept := map[string]any{}
	if ok, is := e.Data.Map()["source_ok"].(bool); is {
		kept["source_ok"] = ok
	}
	if screening != nil && screening.List != "" {
		kept["list"] = screening.List
	}
	e.Passed, e.Problem, e.Handle, e.Field, e.Correction = nil, "", "", "", ""
	e.Data = verification.DataOf(kept)
	return e
}

// sent returns the names of the fields that the provider of a check gets.
func (r personRun) sent(step verification.NodeID) []string {
	n, _ := r.definition.Node(step)
	return fieldsOf("", n.With.Map())
}

// fieldsOf returns the names of the fields of an object, such as place.country.
func fieldsOf(within string, object map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner, ok := object[name].(map[string]any); ok {
			names = append(names, fieldsOf(within+name+".", inner)...)
		} else {
			names = append(names, within+name)
		}
	}
	return names
}

// personConsent is an answer to a consent in consents.json.
type personConsent struct {
	At       time.Time           `json:"at"`
	Step     verification.NodeID `json:"step"`
	Label    string              `json:"label"`
	Text     string              `json:"text"`
	Language string              `json:"language,omitempty"` // empty for the default language of the workflow
	Agreed   bool                `json:"agreed"`
	SHA256   string              `json:"sha256"` // of the text
}

func (r personRun) consents() []personConsent {
	all := []personConsent{}
	for _, c := range report.Consents(r.definition, r.history) {
		all = append(all, personConsent{c.At, c.Node, c.Label, c.Text, c.Language, c.Agreed, c.SHA256})
	}
	return all
}

// reviewEntry is an entry of review.json.
type reviewEntry struct {
	At   time.Time  `json:"at"`
	Kind string     `json:"kind"`
	Fact rules.Fact `json:"fact"`
}

// review returns what reviewers said, what screening found later, and the outcome, oldest first.
func (r personRun) review() []reviewEntry {
	all := []reviewEntry{}
	for _, e := range r.history {
		if about := e.About(); about.File == rules.FileReview || about.File == rules.FileBoth {
			all = append(all, reviewEntry{e.At, e.Kind(), e.Fact})
		}
	}
	return all
}
