// Reads the post of a form as a stream, without holding a file in memory.

package journey

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Limits of one post.
const (
	maxTextBytes = 4 << 20 // of everything but files
	// maxFileBytes is more than the size limit of a file, so that a file which is
	// too large is a problem of its field and not of the whole post.
	maxFileBytes = 3 * verification.MaxDocumentBytes
	maxParts     = 1000 // beside those of rows
)

// inputsOfField is the maximum number of inputs that a field in a row has: those of an upload.
const inputsOfField = 4

// form is an answer and its problems.
type form struct {
	values   map[string]string // by the name of the input
	uploads  map[string]upload // by field
	problems map[string]string // by field, in the customer's language
	general  string            // the problem of the whole form; may be empty
}

// upload is a file that was accepted.
type upload struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// location is a location field as the page sends it.
type location struct {
	Latitude, Longitude, Accuracy string
	Denied                        bool
}

// Shared reports whether the customer shared a location.
func (l location) Shared() bool { return l.Latitude != "" && l.Longitude != "" }

func emptyForm() form {
	return form{values: map[string]string{}, uploads: map[string]upload{}, problems: map[string]string{}}
}

// firstForm returns the form of a step before anything was posted: with the answers of before, if the customer is asked again. A file
// that is asked for again is left out.
func firstForm(step *engine.JourneyStep) form {
	f := emptyForm()
	if step.Again == nil {
		return f
	}
	earlier := step.Again.Earlier.Map()
	for _, field := range step.Fields {
		f.fill(field, earlier[field.Name], step.Again.Fields)
		rows, _ := earlier[field.Name].([]any)
		if field.Type != workflow.FieldGroup || len(rows) == 0 {
			continue
		}
		numbers := make([]int, len(rows))
		for i, row := range rows {
			numbers[i] = i
			fields, _ := row.(map[string]any)
			for _, inRow := range f.inRow(field, i) {
				_, _, name := workflow.SplitPlace(inRow.Name)
				f.fill(inRow, fields[name], step.Again.Fields)
			}
		}
		f.setRows(field, numbers)
	}
	return f
}

// fill gives a field the answer of before, unless it is a file that is asked for again.
func (f form) fill(field workflow.InputField, answer any, again []string) {
	name := inputName(field.Name)
	switch value := answer.(type) {
	case string:
		f.values[name] = value
	case bool:
		if value {
			f.values[name] = "on"
		}
	case float64, json.Number:
		f.values[name] = fmt.Sprint(value)
	case map[string]any:
		if id, _ := value["document_id"].(string); field.Upload() && !slices.Contains(again, field.Name) {
			f.uploads[field.Name] = upload{ID: id}
		}
	}
}

func (f form) failed() bool { return len(f.problems) > 0 || f.general != "" }

// wait returns the number of the wait that the form answers, or 0.
func (f form) wait() int {
	n, err := strconv.Atoi(f.values["wait"])
	if err != nil {
		return 0
	}
	return n
}

// inputName returns the name of the input of a field. The names of its parts add a
// dot and the part.
func inputName(field string) string { return "f." + field }

func (f form) location(field string) location {
	name := inputName(field)
	return location{
		Latitude: f.values[name+".latitude"], Longitude: f.values[name+".longitude"],
		Accuracy: f.values[name+".accuracy"], Denied: f.values[name+".denied"] != "",
	}
}

// fileFunc is called for each file of a form, in order.
type fileFunc func(f form, field workflow.InputField, name string, content io.Reader) error

// readForm reads the post of a step and calls file for each of its files.
func readForm(w http.ResponseWriter, r *http.Request, step *engine.JourneyStep, file fileFunc) (form, error) {
	f := emptyForm()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	if media == "multipart/form-data" {
		err = f.readParts(w, r, step, file)
	} else {
		err = f.readURLEncoded(w, r)
	}
	f.keepUploads(step)
	return f, err
}

func (f form) readURLEncoded(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxTextBytes))
	if err != nil {
		return readError(err)
	}
	values, _ := url.ParseQuery(string(body)) // values that cannot be parsed count as missing
	for name := range values {
		f.values[name] = cleaned(values.Get(name))
	}
	return nil
}

func (f form) readParts(w http.ResponseWriter, r *http.Request, step *engine.JourneyStep, file fileFunc) error {
	limit, maxParts := int64(maxTextBytes), maxParts
	for _, field := range step.Fields {
		if field.Upload() {
			limit += maxFileBytes
		}
		for _, inRow := range field.Fields {
			_, most := field.Rows()
			maxParts += most * inputsOfField
			if inRow.Upload() {
				limit += int64(most) * maxFileBytes
			}
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil //nolint:nilerr // an unreadable form answers no wait, so it is stale
	}
	left := int64(maxTextBytes)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return readError(err)
		case n == maxParts:
			return web.ErrTooLarge
		case isFile(part):
			if err := f.readFile(part, step, file); err != nil {
				return err
			}
		default:
			text, err := io.ReadAll(io.LimitReader(part, left+1))
			if err != nil {
				return readError(err)
			}
			if left -= int64(len(text)); left < 0 {
				return web.ErrTooLarge
			}
			f.values[part.FormName()] = cleaned(string(text))
		}
	}
}

func isFile(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, named := params["filename"]
	return err == nil && named
}

// readFile calls file for a file of an upload field, and skips any other file.
func (f form) readFile(part *multipart.Part, step *engine.JourneyStep, file fileFunc) error {
	name := strings.TrimPrefix(part.FormName(), "f.")
	field, ok := step.Fields.At(name)
	field.Name = name
	if ok && field.Upload() && part.FileName() != "" && f.wait() == step.WaitNumber {
		if err := file(f, field, truncate(cleaned(part.FileName()), 100), part); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, part); err != nil {
		return readError(err)
	}
	return nil
}

// keepUploads restores the files of an earlier post of the same form.
func (f form) keepUploads(step *engine.JourneyStep) {
	for _, field := range f.withRows(step.Fields) {
		name := inputName(field.Name)
		if id := f.values[name+".id"]; field.Upload() && f.uploads[field.Name].ID == "" && id != "" && f.values[name+".drop"] == "" {
			f.uploads[field.Name] = upload{ID: id, Name: truncate(f.values[name+".name"], 100)}
		}
	}
}

// errInterrupted is the error of a post whose body ends early.
var errInterrupted = errors.New("the post was interrupted")

// readError returns the error of a post whose body cannot be read.
func readError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return web.ErrTooLarge
	}
	return errors.Join(errInterrupted, err)
}

// cleaned returns s without invalid UTF-8, control characters and surrounding
// space, and with \n as the line ending.
func cleaned(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r\n", "\n")
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

func truncate(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit])
	}
	return s
}
