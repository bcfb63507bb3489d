// What a browser sends, read as a stream: no file is ever held in memory.

package journey

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// Bounds of one post, in bytes.
const (
	maxTexts = 4 << 20 // of all that is not a file
	// maxSent is what a file may take on the wire: more than it may be large,
	// so that one that is too large still gets its answer beside the field.
	maxSent  = 3 * verification.MaxDocumentBytes
	maxParts = 1000
)

// form is what was answered so far, and what is wrong with it.
type form struct {
	values  map[string]string // by the name of the input
	uploads map[string]upload // by field
	faults  map[string]string // by field, in the customer's words
	general string            // what is wrong with the whole; may be empty
}

// upload is a file that was taken.
type upload struct{ ID, Name string }

// place is a location as the page sends it.
type place struct {
	Latitude, Longitude, Accuracy string
	Denied                        bool
}

// Shared tells whether there is a location.
func (p place) Shared() bool { return p.Latitude != "" && p.Longitude != "" }

func emptyForm() form {
	return form{values: map[string]string{}, uploads: map[string]upload{}, faults: map[string]string{}}
}

func (f form) failed() bool { return len(f.faults) > 0 || f.general != "" }

// wait is the number of the wait that the form answers; 0 for none.
func (f form) wait() int {
	n, err := strconv.Atoi(f.values["wait"])
	if err != nil {
		return 0
	}
	return n
}

// formName is the name of the input of a field; its parts follow after a dot.
func formName(field string) string { return "f." + field }

func (f form) place(field string) place {
	name := formName(field)
	return place{
		Latitude: f.values[name+".latitude"], Longitude: f.values[name+".longitude"],
		Accuracy: f.values[name+".accuracy"], Denied: f.values[name+".denied"] != "",
	}
}

// take is told about each file of a form, in its order.
type take func(f form, field verification.InputField, name string, content io.Reader) error

// readForm reads a post for the step of j and hands its files to take.
func readForm(w http.ResponseWriter, r *http.Request, step *engine.JourneyStep, file take) (form, error) {
	f := emptyForm()
	limit := int64(maxTexts)
	for _, field := range step.Fields {
		if field.Upload() {
			limit += maxSent
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	if media == "multipart/form-data" {
		err = f.readParts(r, step, file)
	} else {
		err = f.readQuery(r)
	}
	if _, tooMuch := errors.AsType[*http.MaxBytesError](err); tooMuch {
		return f, errTooMuch
	}
	f.keepUploads(step)
	return f, err
}

func (f form) readQuery(r *http.Request) error {
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(r.Body, maxTexts+1)); err != nil {
		return err
	}
	if b.Len() > maxTexts {
		return errTooMuch
	}
	values, _ := url.ParseQuery(b.String()) // what cannot be read counts as not sent
	for name := range values {
		f.values[name] = plain(values.Get(name))
	}
	return nil
}

func (f form) readParts(r *http.Request, step *engine.JourneyStep, file take) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil //nolint:nilerr // nothing was sent that could be read: the form is stale then
	}
	left := int64(maxTexts)
	for range maxParts {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return broken(err)
		case isFile(part):
			if err := f.readFile(part, step, file); err != nil {
				return err
			}
		default:
			var b bytes.Buffer
			n, err := b.ReadFrom(io.LimitReader(part, left+1))
			if left -= n; err != nil {
				return broken(err)
			}
			if left < 0 {
				return errTooMuch
			}
			f.values[part.FormName()] = plain(b.String())
		}
	}
	return errTooMuch
}

func isFile(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, named := params["filename"]
	return err == nil && named
}

// readFile hands a file on, or passes over one that nobody asked for.
func (f form) readFile(part *multipart.Part, step *engine.JourneyStep, file take) error {
	name := strings.TrimPrefix(part.FormName(), "f.")
	field, ok := step.Fields.ByName(name)
	if ok && field.Upload() && part.FileName() != "" && f.wait() == step.Wait {
		if err := file(f, field, cut(plain(part.FileName()), 100), part); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, part); err != nil {
		return broken(err)
	}
	return nil
}

// keepUploads finds the files that an earlier post of the same form brought.
func (f form) keepUploads(step *engine.JourneyStep) {
	for _, field := range step.Fields {
		name := formName(field.Name)
		if id := f.values[name+".id"]; field.Upload() && f.uploads[field.Name].ID == "" && id != "" && f.values[name+".drop"] == "" {
			f.uploads[field.Name] = upload{ID: id, Name: cut(f.values[name+".name"], 100)}
		}
	}
}

// errBroken is a post that ended in its middle: nobody is left to answer.
var errBroken = errors.New("the post broke off")

func broken(err error) error {
	if _, tooMuch := errors.AsType[*http.MaxBytesError](err); tooMuch {
		return errTooMuch
	}
	return errors.Join(errBroken, err)
}

// plain drops what no answer can hold: broken encoding and control characters.
// Line ends become plain ones, and space around the text goes.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r\n", "\n")
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most])
	}
	return s
}
