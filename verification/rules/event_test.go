package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/internal/rig/golden"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// allFacts has one fact of every kind, all its fields set. Old histories have
// this JSON: it must not change.
func allFacts() map[string]struct {
	fact rules.Fact
	json string
} {
	type both = struct {
		fact rules.Fact
		json string
	}
	at, object := flows.Noon(), verification.Data(`{"n":1}`)
	return map[string]both{
		"started": {rules.Started{
			Workflow: flows.WorkflowID, WorkflowName: "Onboarding", Version: 3, VersionHash: "abc", ReferenceID: "customer-1",
			Input: object, RedirectURI: "https://app.example", Zone: "Asia/Kolkata", RunTTLSeconds: 3600, AbandonTimeoutSeconds: 600,
			FourEyes: true, ReviewDueSoon: true,
		}, `{"workflow":"0191f3c0-0000-7000-8000-000000000001","workflow_name":"Onboarding","version":3,"version_hash":"abc",` +
			`"reference_id":"customer-1","input":{"n":1},"redirect_uri":"https://app.example","zone":"Asia/Kolkata","run_ttl_seconds":3600,` +
			`"abandon_timeout_seconds":600,"four_eyes":true,"review_due_soon":true}`},
		"dispatched": {
			rules.Dispatched{Node: "pan", Key: "pan_verification", Label: "PAN", Provider: "registry", Dispatch: 2, Visit: 1, Screens: true},
			`{"node":"pan","key":"pan_verification","label":"PAN","provider":"registry","dispatch":2,"visit":1,"screens":true}`,
		},
		"result_pending": {
			rules.ResultPending{Node: "pan", Handle: "ticket-1", PollAt: at},
			`{"node":"pan","handle":"ticket-1","poll_at":"2026-03-02T12:00:00Z"}`,
		},
		"callback_received": {rules.CallbackReceived{Node: "pan", Digest: "0f"}, `{"node":"pan","digest":"0f"}`},
		"poll_failed": {
			rules.PollFailed{Node: "pan", Cause: "timeout", PollAt: at},
			`{"node":"pan","cause":"timeout","poll_at":"2026-03-02T12:00:00Z"}`,
		},
		"result_recorded": {
			rules.ResultRecorded{Node: "pan", Passed: true, Data: object, Screening: &rules.Screening{
				List: "sanctions", ListVersion: "ab", Hits: []verification.Hit{{ID: "e-1"}},
			}},
			`{"node":"pan","passed":true,"data":{"n":1},"screening":{"list":"sanctions","list_version":"ab","hits":[{"id":"e-1","name":"","score":0}]}}`,
		},
		"dispatch_failed": {
			rules.DispatchFailed{Node: "pan", Cause: "timeout", RetryAt: at},
			`{"node":"pan","cause":"timeout","retry_at":"2026-03-02T12:00:00Z"}`,
		},
		"result_unavailable": {rules.ResultUnavailable{Node: "pan", Data: object}, `{"node":"pan","data":{"n":1}}`},
		"customer_awaited": {
			rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Label: "Consent", Signal: "consent_submitted"},
			`{"node":"consent","type":"consent","label":"Consent","signal":"consent_submitted"}`,
		},
		"journey_opened": {rules.JourneyOpened{Node: "consent"}, `{"node":"consent"}`},
		"document_uploaded": {
			rules.DocumentUploaded{
				Node: "photo", Document: "e0000000-0000-7000-8000-000000000001", Field: "face",
				MediaType: "image/jpeg", Size: 7, SHA256: "ab",
			},
			`{"node":"photo","document_id":"e0000000-0000-7000-8000-000000000001","field":"face","media_type":"image/jpeg","size":7,"sha256":"ab"}`,
		},
		"customer_submitted": {rules.CustomerSubmitted{Node: "consent", Data: object, Language: "hi", Request: "r"}, `{"node":"consent","data":{"n":1},"language":"hi","request":"r"}`},
		"branch_taken": {
			rules.BranchTaken{Node: "gate", When: "a < b", Next: "done", Values: object},
			`{"node":"gate","when":"a < b","next":"done","values":{"n":1}}`,
		},
		"group_began": {
			rules.GroupBegan{Node: "owners", Type: workflow.NodeCheck, Key: "owners", Label: "Owner", Visit: 1, Each: true, Elements: 2, Items: object},
			`{"node":"owners","type":"check","key":"owners","label":"Owner","visit":1,"each":true,"elements":2,"items":{"n":1}}`,
		},
		"group_decided": {
			rules.GroupDecided{
				Node: "address", Type: workflow.NodeChecks, Passed: true, Unavailable: true, Lacking: []verification.NodeID{"address.bureau"}, Data: object,
			},
			`{"node":"address","type":"checks","passed":true,"unavailable":true,"lacking":["address.bureau"],"data":{"n":1}}`,
		},
		"no_answer": {
			rules.NoAnswer{Node: "address.bureau", Outcome: verification.OutcomeNoCoverage, Data: object},
			`{"node":"address.bureau","outcome":"no_coverage","data":{"n":1}}`,
		},
		"skipped": {
			rules.Skipped{Node: "court", Next: "done", Values: object, Kept: true, On: "failed"},
			`{"node":"court","next":"done","values":{"n":1},"kept":true,"on":"failed"}`,
		},
		"compared": {rules.Compared{Node: "registry", Differs: []string{"Name"}}, `{"node":"registry","differs":["Name"]}`},
		"asked_again": {
			rules.AskedAgain{
				Node: "details", From: "review", Round: 1, Reasons: []string{"blurred"}, Fields: []string{"photo"}, Note: "Hold it straight.",
				By: "asha", Identity: "verifyd#asha", Request: "r", Since: at,
			},
			`{"node":"details","from":"review","round":1,"reasons":["blurred"],"fields":["photo"],"note":"Hold it straight.","by":"asha","identity":"verifyd#asha","request":"r","since":"2026-03-02T12:00:00Z"}`,
		},
		"redirected": {
			rules.Redirected{Node: "bank", URL: "https://bank.example/sign-in", Handle: "ticket", PollAt: at},
			`{"node":"bank","url":"https://bank.example/sign-in","handle":"ticket","poll_at":"2026-03-02T12:00:00Z"}`,
		},
		"returned": {
			rules.Returned{Node: "bank", Digest: "0f", Pending: true},
			`{"node":"bank","digest":"0f","pending":true}`,
		},
		"review_asked": {
			rules.ReviewAsked{Node: "review", Label: "Review", Reason: "Look."},
			`{"node":"review","label":"Review","reason":"Look."}`,
		},
		"verdict_recorded": {
			rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove, Notes: "fine", By: "asha", Identity: "verifyd#asha", Request: "r"},
			`{"node":"review","decision":"approve","notes":"fine","by":"asha","identity":"verifyd#asha","request":"r"}`,
		},
		"verdict_proposed": {
			rules.VerdictProposed{Node: "review", Decision: rules.DecisionReject, Reason: "other", Notes: "no", By: "asha", Identity: "verifyd#asha", Request: "r"},
			`{"node":"review","decision":"reject","reason":"other","notes":"no","by":"asha","identity":"verifyd#asha","request":"r"}`,
		},
		"proposal_returned": {
			rules.ProposalReturned{Node: "review", Decision: rules.DecisionApprove, Notes: "why?", By: "ravi", Identity: "verifyd#ravi", Request: "r"},
			`{"node":"review","decision":"approve","notes":"why?","by":"ravi","identity":"verifyd#ravi","request":"r"}`,
		},
		"hits_found": {
			rules.HitsFound{Node: "pan", List: "sanctions", ListVersion: "ab", Hits: []verification.Hit{
				{ID: "e-1", Name: "Ivan", Score: 0.9, Reasons: []string{"same name"}, Digest: "cd"},
			}},
			`{"node":"pan","list":"sanctions","list_version":"ab","hits":[{"id":"e-1","name":"Ivan","score":0.9,"reasons":["same name"],"digest":"cd"}]}`,
		},
		"hit_decided": {
			rules.HitDecided{
				Node: "pan", List: "sanctions", Entry: "e-1", Digest: "cd", Match: rules.MatchOther, Reason: "another year",
				Asked: "ef", By: "asha", Identity: "verifyd#asha",
			},
			`{"node":"pan","list":"sanctions","entry":"e-1","digest":"cd","match":"other","reason":"another year","asked":"ef","by":"asha","identity":"verifyd#asha"}`,
		},
		"hits_cleared": {
			rules.HitsCleared{Node: "pan", Cleared: []rules.Clearance{{
				List: "sanctions", ListVersion: "ab", Hit: verification.Hit{ID: "e-1", Name: "Ivan", Score: 0.9}, Asked: "ef",
				Run: flows.RunID, Node: "list", Visit: 1, At: at, By: "asha", Identity: "verifyd#asha",
			}}},
			`{"node":"pan","cleared":[{"list":"sanctions","list_version":"ab","hit":{"id":"e-1","name":"Ivan","score":0.9},"asked":"ef",` +
				`"run":"` + string(flows.RunID) + `","node":"list","visit":1,"at":"2026-03-02T12:00:00Z","by":"asha","identity":"verifyd#asha"}]}`,
		},
		"completed": {
			rules.Completed{Node: "done", Outcome: "approved", Data: object, Lacking: []string{"risk"}, Cause: "data: risk: it has no value"},
			`{"node":"done","outcome":"approved","data":{"n":1},"lacking":["risk"],"cause":"data: risk: it has no value"}`,
		},
		"failed": {
			rules.Failed{Node: "pan", Error: rules.RunError{Code: rules.CodeCheckFailed, Check: "pan", Message: "No."}, Cause: "x"},
			`{"node":"pan","error":{"code":"CHECK_FAILED","check":"pan","message":"No."},"cause":"x"}`,
		},
		"expired": {
			rules.Expired{Error: rules.RunError{Code: rules.CodeLinkExpired, Message: "Late."}},
			`{"error":{"code":"LINK_EXPIRED","message":"Late."}}`,
		},
		"cancelled": {rules.Cancelled{}, `{}`},
		"note_added": {
			rules.NoteAdded{Notes: "called", By: "asha", Identity: "verifyd#asha"},
			`{"notes":"called","by":"asha","identity":"verifyd#asha"}`,
		},
		"corrected": {
			rules.Corrected{Node: "pan", Field: "name", Correction: "it is Asha Rao", By: "asha", Identity: "verifyd#asha", Request: "r"},
			`{"node":"pan","field":"name","correction":"it is Asha Rao","by":"asha","identity":"verifyd#asha","request":"r"}`,
		},
		"assigned": {
			rules.Assigned{To: rules.Assignee{Team: "seniors"}, Escalated: true, Notes: "look", By: "asha", Identity: "verifyd#asha"},
			`{"to":{"team":"seniors"},"escalated":true,"notes":"look","by":"asha","identity":"verifyd#asha"}`,
		},
		"held":              {rules.Held{Reason: "in dispute", By: "asha", Identity: "asha"}, `{"reason":"in dispute","by":"asha","identity":"asha"}`},
		"hold_ended":        {rules.HoldEnded{By: "asha", Identity: "asha"}, `{"by":"asha","identity":"asha"}`},
		"redacted":          {rules.Redacted{Digest: "ab", By: "root", Identity: "operator#root"}, `{"digest":"ab","by":"root","identity":"operator#root"}`},
		"erased":            {rules.Erased{}, `{}`},
		"documents_removed": {rules.DocumentsRemoved{}, `{}`},
		"restricted": {
			rules.Restricted{Digest: "ab", Reason: "contested", By: "asha", Identity: "asha"},
			`{"digest":"ab","reason":"contested","by":"asha","identity":"asha"}`,
		},
		"restriction_lifted": {
			rules.RestrictionLifted{Reason: "settled", By: "asha", Identity: "asha"}, `{"reason":"settled","by":"asha","identity":"asha"}`,
		},
		"rejected_before": {
			rules.RejectedBefore{Runs: []rules.RejectedRun{{Run: "r-1", By: []verification.EarlierBy{verification.EarlierNumber}}}, Unknown: true},
			`{"runs":[{"run":"r-1","by":["number"]}],"unknown":true}`,
		},
		"review_due_soon": {rules.ReviewDueSoon{DueAt: at}, `{"due_at":"2026-03-02T12:00:00Z"}`},
	}
}

func TestEveryFactHasItsJSON(t *testing.T) {
	var types []string
	for kind, c := range allFacts() {
		e := rules.Event{At: flows.Noon(), Fact: c.fact}
		want := fmt.Sprintf(`{"type":%q,"at":"2026-03-02T12:00:00Z","fact":%s}`, kind, c.json)
		raw, err := rules.EncodeEvent(e)
		if err != nil || string(raw) != want || e.Kind() != kind {
			t.Errorf("%s: EncodeEvent = %s, %v\nwant %s", e.Kind(), raw, err, want)
		}
		var back rules.Event
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Errorf("%s: Unmarshal: %v", kind, err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s came back changed (-want +got):\n%s", kind, diff)
		}
		types = append(types, fmt.Sprintf("%T", c.fact)[len("rules."):])
	}
	slices.Sort(types)
	if declared := receiversOf(t, "event.go", "about"); !slices.Equal(types, declared) {
		t.Errorf("the table has %q, want all of %q", types, declared)
	}
}

// TestTheFieldsOfEveryEventAreRecorded writes the file that internal/releases compares with each release.
func TestTheFieldsOfEveryEventAreRecorded(t *testing.T) {
	all := allFacts()
	lines := []string{fmt.Sprintf("level of the store since %d", store.Level)}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		fact := all[kind].fact
		lines = append(lines, golden.Fields("event "+kind, "", rules.Event{Fact: fact}.About().Since, reflect.TypeOf(fact))...)
	}
	golden.Equal(t, "testdata/events.txt", []byte(strings.Join(lines, "\n")+"\n"))
}

func TestOldEventsDefaultTheFieldsThatCameLater(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(allFacts())) {
		for _, fact := range []string{`{}`, `null`, `{"came_later":1}`} {
			var e rules.Event
			raw := fmt.Sprintf(`{"type":%q,"at":"2026-03-02T17:30:00.5+05:30","fact":%s,"came_later":1}`, kind, fact)
			if err := json.Unmarshal([]byte(raw), &e); err != nil || e.Kind() != kind {
				t.Errorf("Unmarshal(%s) = %s, %v", raw, e.Kind(), err)
			}
			if !e.At.Equal(flows.Noon().Add(time.Second/2)) || e.At.Location() != time.UTC {
				t.Errorf("at = %v, want the time in UTC", e.At)
			}
		}
	}
}

func TestEventsThatCannotBeDecoded(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"type":"danced","at":"2026-03-02T12:00:00Z","fact":{}}`, `decode event "danced": unknown event type`},
		{`{"at":"2026-03-02T12:00:00Z"}`, `decode event "": unknown event type`},
		{`{"type":"result_recorded","at":"yesterday","fact":{}}`, `decode event: parsing time "yesterday"`},
		{`{"type":"result_recorded","at":"2026-03-02T12:00:00Z","fact":{"passed":"yes"}}`, `decode event "result_recorded": json: cannot unmarshal`},
		{`[]`, `decode event: json: cannot unmarshal`},
	} {
		var e rules.Event
		err := json.Unmarshal([]byte(c.raw), &e)
		if err == nil || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
			t.Errorf("Unmarshal(%s) = %v, want %s...", c.raw, err, c.want)
		}
	}
}

func TestEventsThatCannotBeEncoded(t *testing.T) {
	for name, e := range map[string]rules.Event{
		"no fact":     {At: flows.Noon()},
		"broken data": {At: flows.Noon(), Fact: rules.ResultRecorded{Data: verification.Data(`{`)}},
		"year 10000":  {At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Fact: rules.Cancelled{}},
	} {
		if raw, err := json.Marshal(e); err == nil {
			t.Errorf("%s: Marshal = %s, want an error", name, raw)
		}
		if got := rules.MakeReport(flows.RunID, []rules.Event{e}, flows.Noon()).Digest; len(got) != 64 {
			t.Errorf("%s: digest = %q, want one all the same", name, got)
		}
	}
	if got := (rules.Event{}).Kind(); got != "" {
		t.Errorf("Kind without a fact = %q, want none", got)
	}
}

// Histories that were saved by any encoder have the digest they had before.
func TestEncodersDoNotChangeTheDigest(t *testing.T) {
	odd := flows.Data(t, `{"z":1,"a":"<b> & é 漢字","n":1.50,"e":1e2,"line":"`+"\u2028"+`"}`)
	e := rules.Event{At: flows.Noon(), Fact: rules.ResultRecorded{Node: "pan", Data: odd}}
	digest := func(e rules.Event) string {
		return rules.MakeReport(flows.RunID, []rules.Event{e}, flows.Noon()).Digest
	}
	for name, encode := range map[string]func(rules.Event) ([]byte, error){
		"EncodeEvent":  rules.EncodeEvent,
		"json.Marshal": func(e rules.Event) ([]byte, error) { return json.Marshal(e) },
	} {
		raw, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		var back rules.Event
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" || digest(back) != digest(e) {
			t.Errorf("%s: the event came back with the digest %s, was %s (-want +got):\n%s", name, digest(back), digest(e), diff)
		}
	}
}

func TestEncodeEventKeepsDataByteForByte(t *testing.T) {
	const odd = `{"z":1,"a":"<b> & \u00e9 \/","n":1.50}` // not as verification.ParseData would have written it
	raw, err := rules.EncodeEvent(rules.Event{At: flows.Noon(), Fact: rules.ResultUnavailable{Node: "pan", Data: verification.Data(odd)}})
	if want := `{"type":"result_unavailable","at":"2026-03-02T12:00:00Z","fact":{"node":"pan","data":` + odd + `}}`; err != nil || string(raw) != want {
		t.Errorf("EncodeEvent = %s, %v\nwant %s", raw, err, want)
	}
}

func TestDecodeEventsReadsWhatEncodeEventsWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := slices.Sorted(maps.Keys(allFacts()))
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rules.Event {
			e := rules.Event{At: flows.Noon(), Fact: allFacts()[rapid.SampledFrom(kinds).Draw(t, "kind")].fact}
			e.At = e.At.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later")) * time.Microsecond)
			if d, ok := e.Fact.(rules.Dispatched); ok {
				d.Key = rapid.SampledFrom([]string{"", string(d.Node), "other"}).Draw(t, "key")
				d.Dispatch, d.Visit = rapid.IntRange(0, 2).Draw(t, "dispatch"), rapid.IntRange(0, 2).Draw(t, "visit")
				e.Fact = d
			}
			return e
		}), 0, 8).Draw(t, "events")
		raw, err := rules.EncodeEvents(events)
		if err != nil {
			t.Fatal(err)
		}
		back, err := rules.DecodeEvents(raw)
		if err != nil || strings.Count(string(raw), "\n") != max(len(events)-1, 0) {
			t.Errorf("EncodeEvents = %s, %v", raw, err)
		}
		if diff := cmp.Diff(events, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the events came back changed (-want +got):\n%s\n%s", diff, raw)
		}
	})
	if raw, err := rules.EncodeEvents([]rules.Event{{At: flows.Noon()}}); err == nil {
		t.Errorf("EncodeEvents without a fact = %s, want an error", raw)
	}
}

func TestEncodeEventsLeavesOutWhatFollows(t *testing.T) {
	const odd = `{"z":1,"a":"<b> & \u00e9 \/","n":1.50}`
	raw, err := rules.EncodeEvents([]rules.Event{
		{At: flows.Noon(), Fact: rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(odd)}},
		{At: flows.Noon(), Fact: rules.Dispatched{Node: "bank", Key: "bank", Label: "Bank", Provider: "vendor", Dispatch: 1, Visit: 1}},
		{At: flows.Noon().Add(time.Second), Fact: rules.Dispatched{Node: "bank", Key: "b", Label: "Bank", Provider: "vendor", Dispatch: 2, Visit: 1}},
	})
	want := `[{"at":"2026-03-02T12:00:00Z","result_recorded":{"node":"pan","passed":true,"data":` + odd + `}},
{"dispatched":{"node":"bank","label":"Bank","provider":"vendor"}},
{"at":"2026-03-02T12:00:01Z","dispatched":{"node":"bank","key":"b","label":"Bank","provider":"vendor","dispatch":2}}]`
	if err != nil || string(raw) != want {
		t.Errorf("EncodeEvents = %s, %v\nwant %s", raw, err, want)
	}
}

func TestRowsThatCannotBeDecoded(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                              `decode events: json: cannot unmarshal`,
		`[{"at":"noon"}]`:                 `decode event 0: parsing time`,
		`[{"cancelled":{}}]`:              `decode event 0: it has no time`,
		`[{"at":"2026-03-02T12:00:00Z"}]`: `decode event 0: it has 0 facts`,
		`[{"at":"2026-03-02T12:00:00Z","cancelled":{},"expired":{}}]`:                 `decode event 0: it has 2 facts`,
		`[{"at":"2026-03-02T12:00:00Z","danced":{}}]`:                                 `decode event "danced": unknown event type`,
		`[{"at":"2026-03-02T12:00:00Z","cancelled":{}},{"dispatched":{"visit":"x"}}]`: `decode event "dispatched": json: cannot unmarshal`,
	} {
		if events, err := rules.DecodeEvents([]byte(raw)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("DecodeEvents(%s) = %v, %v; want %s...", raw, events, err, want)
		}
	}
}

// The facts of every step have an encoder of their own.
func TestEventsAreEncodedAsEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Just("<&>\u2028\xff\x00\"\\\x7f"))
		for _, f := range []rules.Fact{
			rules.Dispatched{
				Node: verification.NodeID(text.Draw(t, "node")), Key: text.Draw(t, "key"), Label: text.Draw(t, "label"),
				Provider: text.Draw(t, "provider"), Dispatch: rapid.Int().Draw(t, "dispatch"), Visit: rapid.Int().Draw(t, "visit"),
			},
			rules.ResultRecorded{
				Node: verification.NodeID(text.Draw(t, "node")), Passed: rapid.Bool().Draw(t, "passed"),
				Data: flows.Data(t, rapid.SampledFrom([]string{``, `{}`, `{"a":"<"}`}).Draw(t, "data")),
				Screening: rapid.Ptr(rapid.Custom(func(t *rapid.T) rules.Screening {
					return rules.Screening{
						List: text.Draw(t, "list"), ListVersion: text.Draw(t, "version"),
						Hits: rapid.SliceOf(rapid.Custom(func(t *rapid.T) verification.Hit {
							return verification.Hit{
								ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Score: rapid.Float64().Draw(t, "score"),
								Alias: text.Draw(t, "alias"), BirthDates: rapid.SliceOf(text).Draw(t, "birth dates"),
								Countries: rapid.SliceOf(text).Draw(t, "countries"), Topics: rapid.SliceOf(text).Draw(t, "topics"),
								Reasons: rapid.SliceOf(text).Draw(t, "reasons"),
							}
						})).Draw(t, "hits"),
					}
				}), true).Draw(t, "screening"),
			},
		} {
			raw, err := rules.EncodeEvent(rules.Event{At: flows.Noon(), Fact: f})
			if err != nil {
				t.Fatal(err)
			}
			var e struct {
				Fact json.RawMessage `json:"fact"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatalf("EncodeEvent = %s, %v", raw, err)
			}
			var want strings.Builder
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(f); err != nil || string(e.Fact)+"\n" != want.String() {
				t.Errorf("EncodeEvent = %s\nwant the fact %s, %v", raw, &want, err)
			}
		}
	})
}

func TestErrorsOfEncodingCanBeLookedInto(t *testing.T) {
	_, err := json.Marshal(rules.Event{Fact: rules.ResultRecorded{Data: verification.Data(`{`)}})
	var cause *json.MarshalerError
	if !errors.As(err, &cause) {
		t.Errorf("Marshal = %v, want the error of the encoder inside", err)
	}
}

func FuzzEventJSON(f *testing.F) {
	for kind, c := range allFacts() {
		f.Add(fmt.Appendf(nil, `{"type":%q,"at":"2026-03-02T12:00:00Z","fact":%s}`, kind, c.json))
	}
	f.Add([]byte(`{"type":"result_recorded","at":"0000-01-01T00:00:00+23:59","fact":{"data":[1, 2]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e rules.Event
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		r := rules.Run{ID: flows.RunID}.Evolve(e)
		_, _ = r.Detail(flows.Noon()), rules.MakeReport(flows.RunID, []rules.Event{e}, flows.Noon())
		first, err := rules.EncodeEvent(e)
		if err != nil {
			return // a year that JSON has no form for
		}
		var again rules.Event
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("Unmarshal(%s): %v", first, err)
		}
		second, err := rules.EncodeEvent(again)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
		digest := func(e rules.Event) string {
			return rules.MakeReport(flows.RunID, []rules.Event{e}, flows.Noon()).Digest
		}
		if digest(e) != digest(again) {
			t.Errorf("the digest of %s changed when it was saved", first)
		}
	})
}
