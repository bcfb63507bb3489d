// The JSON of calls.

package operator

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// options keeps apart nil and empty lists, and refuses fields that the reader does not know:
// it is another build.
func options() json.Options {
	return json.JoinOptions(
		ofValues(),
		json.WithMarshalers(json.JoinMarshalers(
			json.MarshalFunc(encodeEvents), json.MarshalFunc(encodeWork), json.MarshalFunc(encodeField), json.MarshalFunc(encodeRow))),
		json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFunc(decodeEvents), json.UnmarshalFunc(decodeWork), json.UnmarshalFunc(decodeField), json.UnmarshalFunc(decodeRow))),
	)
}

// ofValues are the options without the JSON of what has none of its own.
func ofValues() json.Options {
	return json.JoinOptions(
		json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true), jsonv1.FormatDurationAsNano(true),
		jsonv1.OmitEmptyWithLegacySemantics(true), json.RejectUnknownMembers(true), jsontext.PreserveRawStrings(true),
	)
}

func encode(value any) ([]byte, error) { return json.Marshal(value, options()) }

func decode(raw []byte, into any) error { return json.Unmarshal(raw, into, options()) }

func encodeEvents(events []rules.Event) ([]byte, error) {
	if events == nil {
		return []byte("null"), nil
	}
	return rules.EncodeEvents(events)
}

func decodeEvents(raw []byte, events *[]rules.Event) (err error) {
	if *events = nil; string(raw) != "null" {
		*events, err = rules.DecodeEvents(raw)
	}
	return err
}

// due is an entry of store.DueWork, whose keys are no names.
type due struct {
	Key store.WorkKey
	At  time.Time
}

func encodeWork(w store.DueWork) ([]byte, error) {
	if w == nil {
		return []byte("null"), nil
	}
	list := []due{}
	for _, key := range w.Keys() {
		list = append(list, due{key, w[key]})
	}
	return json.Marshal(list)
}

func decodeWork(raw []byte, w *store.DueWork) error {
	var list []due
	err := json.Unmarshal(raw, &list)
	if *w = nil; list != nil {
		*w = store.DueWork{}
	}
	for _, d := range list {
		(*w)[d.Key] = d.At
	}
	return err
}

// field is a verification.FieldError with all that it has.
type field struct {
	Name, Message string
	Character     int
}

func encodeField(f verification.FieldError) ([]byte, error) { return json.Marshal(field(f)) }

func decodeField(raw []byte, f *verification.FieldError) error {
	return json.Unmarshal(raw, (*field)(f))
}

func encodeRow(r store.Record) ([]byte, error) {
	return json.Marshal(map[store.RecordKind]any{store.KindOf(r): r}, ofValues())
}

func decodeRow(raw []byte, r *store.Record) error {
	var row map[store.RecordKind]jsontext.Value // with one entry, or null
	err := json.Unmarshal(raw, &row)
	for kind, value := range row {
		*r, err = store.DecodeRow(kind, func(into any) error { return json.Unmarshal(value, into, ofValues()) })
	}
	return err
}

// failure is an error. An error that is no verification.Error has only a message.
type failure struct {
	Kind             string // the text of the kind
	Subject, Message string
	Fields           []verification.FieldError
	Cause            string
}

// kinds returns the kinds of a verification.Error.
func kinds() []error {
	return []error{
		verification.ErrNotFound, verification.ErrInvalid, verification.ErrConflict, verification.ErrNotOpen, verification.ErrUnauthenticated,
		verification.ErrForbidden, verification.ErrKeyReused, verification.ErrInFlight, verification.ErrUnavailable,
	}
}

func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	expected, ok := errors.AsType[*verification.Error](err)
	if !ok || !slices.Contains(kinds(), expected.Kind) {
		return &failure{Message: err.Error()}
	}
	f := &failure{Kind: expected.Kind.Error(), Subject: expected.Subject, Message: expected.Message, Fields: expected.Fields}
	if expected.Cause != nil {
		f.Cause = expected.Cause.Error() // operators have no other log
	}
	return f
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(kinds(), func(kind error) bool { return kind.Error() == f.Kind })
	if i < 0 {
		return errors.New(f.Message)
	}
	err := &verification.Error{Kind: kinds()[i], Subject: f.Subject, Message: f.Message, Fields: f.Fields}
	if f.Cause != "" {
		err.Cause = errors.New(f.Cause)
	}
	return err
}

// answer is the answer to a call.
type answer struct {
	Results []jsontext.Value // all but the error
	Error   *failure
}

// ofRecords are the options of the records of a backup.
func ofRecords() json.Options {
	return json.JoinOptions(
		ofValues(), json.WithMarshalers(json.MarshalFunc(encodeEvents)), json.WithUnmarshalers(json.UnmarshalFunc(decodeEvents)))
}

// EncodeRecord returns the JSON of a record of a store, on one line.
func EncodeRecord(r store.Record) ([]byte, error) { return json.Marshal(r, ofRecords()) }

// DecodeRecord returns the record of a kind. It refuses a member that this build does not know.
func DecodeRecord(kind store.RecordKind, raw []byte) (r store.Record, err error) {
	into := func(value any) error { return json.Unmarshal(raw, value, ofRecords()) }
	switch kind { //nolint:exhaustive // the others are rows
	case store.RecordWorkflow:
		r, err = decoded[store.WorkflowRecord](into)
	case store.RecordRun:
		r, err = decoded[store.RunRecord](into)
	case store.RecordMeasure:
		r, err = decoded[store.MeasureRecord](into)
	case store.RecordAudit:
		r, err = decoded[store.AuditRecord](into)
	default:
		r, err = store.DecodeRow(kind, into)
	}
	return r, err
}

func decoded[R store.Record](into func(any) error) (r R, err error) {
	err = into(&r)
	return r, err
}
