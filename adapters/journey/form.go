// Reads the post of a form as a stream, without holding a file in memory.

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
	maxTexts = 4 << 20 // of everything but files
	// maxFileBody is more than the size limit of a file, so that a file which is
	// too large is a problem of its field and not of the whole post.
	maxFileBody = 3 * verification.MaxDocumentBytes
	maxParts    = 1000
)

// form is an answer and its problems.
type form struct {
	values   map[string]string // by the name of the input
	uploads  map[string]upload // by field
	problems map[string]string // by field, in the customer's language
	general  string            // the problem of the whole form; may be empty
}

// upload is a file that was accepted.
type upload struct{ ID, Name string }

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

func (f form) failed() bool { return len(f.problems) > 0 || f.general != "" }

// wait returns the number of the wait that the form answers, or 0.
func (f form) wait() int {
	n, err := strconv.Atoi(f.values["wait"])
	if err != nil {
		return 0
	}
	return n
}

// formName returns the name of the input of a field. The names of its parts add a
// dot and the part.
func formName(field string) string { return "f." + field }

func (f form) location(field string) location {
	name := formName(field)
	return location{
		Latitude: f.values[name+".latitude"], Longitude: f.values[name+".longitude"],
		Accuracy: f.values[name+".accuracy"], Denied: f.values[name+".denied"] != "",
	}
}

// fileFunc is called for each file of a form, in order.
type fileFunc func(f form, field verification.InputField, name string, content io.Reader) error

// readForm reads the post of a step and calls file for each of its files.
func readForm(w http.ResponseWriter, r *http.Request, step *engine.JourneyStep, file fileFunc) (form, error) {
	f := emptyForm()
	limit := int64(maxTexts)
	for _, field := range step.Fields {
		if field.Upload() {
			limit += maxFileBody
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	if media == "multipart/form-data" {
		err = f.readParts(r, step, file)
	} else {
		err = f.readURLEncoded(r)
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return f, errTooLarge
	}
	f.keepUploads(step)
	return f, err
}

func (f form) readURLEncoded(r *http.Request) error {
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(r.Body, maxTexts+1)); err != nil {
		return err
	}
	if b.Len() > maxTexts {
		return errTooLarge
	}
	values, _ := url.ParseQuery(b.String()) // values that cannot be parsed count as missing
	for name := range values {
		f.values[name] = plain(values.Get(name))
	}
	return nil
}

func (f form) readParts(r *http.Request, step *engine.JourneyStep, file fileFunc) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil //nolint:nilerr // an unreadable form answers no wait, so it is stale
	}
	left := int64(maxTexts)
	for range maxParts {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return readError(err)
		case isFile(part):
			if err := f.readFile(part, step, file); err != nil {
				return err
			}
		default:
			var b bytes.Buffer
			n, err := b.ReadFrom(io.LimitReader(part, left+1))
			if left -= n; err != nil {
				return readError(err)
			}
			if left < 0 {
				return errTooLarge
			}
			f.values[part.FormName()] = plain(b.String())
		}
	}
	return errTooLarge
}

func isFile(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, named := params["filename"]
	return err == nil && named
}

// readFile calls file for a file of an upload field, and skips any other file.
func (f form) readFile(part *multipart.Part, step *engine.JourneyStep, file fileFunc) error {
	name := strings.TrimPrefix(part.FormName(), "f.")
	field, ok := step.Fields.ByName(name)
	if ok && field.Upload() && part.FileName() != "" && f.wait() == step.Wait {
		if err := file(f, field, truncate(plain(part.FileName()), 100), part); err != nil {
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
	for _, field := range step.Fields {
		name := formName(field.Name)
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
		return errTooLarge
	}
	return errors.Join(errInterrupted, err)
}

// plain returns s without invalid UTF-8, control characters and surrounding
// space, and with \n as the line ending.
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

func truncate(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit])
	}
	return s
}
