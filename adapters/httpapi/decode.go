// Decoding of request bodies: strict JSON, every problem reported at once.

package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
)

// maxBody is the maximum length of a request body, in bytes.
const maxBody = 1 << 20

// Of bodies longer than largeBody bytes, at most maxDecoding are decoded at the same
// time, and one of each tenant. A tenant then rests for decodingRest times as long as
// the decoding took.
const (
	largeBody    = 64 << 10
	maxDecoding  = 2
	decodingRest = 3
)

// readBody reads a body that is announced as JSON. An empty body needs no
// Content-Type.
func readBody(w *response, r *http.Request) ([]byte, error) {
	announced := len(r.Header["Content-Type"]) > 0
	switch {
	case r.ContentLength == 0:
		return nil, nil
	case announced && !isJSON(r.Header):
		return nil, errMediaType
	case r.ContentLength > 0 && !announced:
		return nil, errMediaType
	case r.ContentLength > maxBody:
		return nil, errTooLarge
	}
	raw, err := rawBody(w, r)
	if err == nil && len(raw) > 0 && !announced {
		err = errMediaType
	}
	return raw, err
}

// rawBody reads a body of any media type.
func rawBody(w *response, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength <= maxBody {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	// MaxBytesReader closes the connection of a client that sends too much. It
	// can do so only through the writer of net/http.
	_, err := body.ReadFrom(http.MaxBytesReader(w.Unwrap(), r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, errCutOff
	}
	return body.Bytes(), nil
}

// isJSON reports whether the headers announce JSON in UTF-8 without a content
// encoding.
func isJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 || (given(h["Content-Encoding"]) && !strings.EqualFold(h.Get("Content-Encoding"), "identity")) {
		return false
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || (media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return false
	}
	charset, named := params["charset"]
	return !named || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// decoder decodes one JSON object. It collects the problems of fields and goes on
// after each; only a syntax error stops it.
type decoder struct {
	dec      *jsontext.Decoder
	problems []verification.FieldError
}

// decode decodes a body into a struct. It returns the problems of its fields, and
// an error if the body as a whole is not valid.
func decode(body []byte, to any) ([]verification.FieldError, error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil, badRequest("the body is empty: send a JSON object")
	}
	d := &decoder{dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if kind := d.dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return nil, badRequest("the body must be a JSON object")
	}
	if err := d.object("", to); err != nil {
		return nil, d.malformed(err, body)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, badRequest("the body must be one JSON object, with nothing after it")
	}
	return d.problems, nil
}

// malformed returns the error for a body with a syntax error. It repeats nothing
// of the body except names of fields.
func (d *decoder) malformed(err error, body []byte) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return badRequest("the body is not valid JSON")
	}
	path, message := pathOf(syntax.JSONPointer), ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "is given twice"
	case isEncodingError(syntax, body):
		message = "must be valid UTF-8"
	default:
		message = fmt.Sprintf("is not valid JSON at byte %d", syntax.ByteOffset)
	}
	if path == "" {
		return badRequest("the body " + message)
	}
	return badFields(append(d.problems, verification.FieldError{Name: path, Message: message}))
}

// isEncodingError reports whether a decoder that accepts invalid UTF-8 gets past the
// offset of the error.
func isEncodingError(e *jsontext.SyntacticError, body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))
	var err error
	for err == nil {
		_, err = d.ReadToken()
	}
	var later *jsontext.SyntacticError
	return !errors.As(err, &later) || later.ByteOffset > e.ByteOffset
}

func (d *decoder) object(path string, to any) error {
	if d.dec.PeekKind() != '{' {
		return d.skip(path, "must be an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		token, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if err := d.value(join(path, name), member(to, name)); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// member returns a pointer to the field of a struct whose json tag is name, or nil.
func member(to any, name string) any {
	for field, v := range reflect.ValueOf(to).Elem().Fields() {
		if field.Tag.Get("json") == name {
			return v.Addr().Interface()
		}
	}
	return nil
}

// value reads a value. The path names it in a problem, such as "payload.notes".
func (d *decoder) value(path string, to any) error {
	switch to := to.(type) {
	case *string:
		return d.text(path, to)
	case **string:
		*to = new(string)
		return d.text(path, *to)
	case *verification.Data:
		return d.data(path, to)
	case *jsontext.Value:
		raw, err := d.dec.ReadValue()
		*to = raw.Clone()
		return err
	case *[]string:
		return d.list(path, to)
	case **resubmitPayload:
		if d.dec.PeekKind() == '{' {
			*to = &resubmitPayload{}
		}
		return d.object(path, *to)
	case **reviewPayload:
		if d.dec.PeekKind() == '{' {
			*to = &reviewPayload{}
		}
		return d.object(path, *to)
	}
	return d.skip(path, "is not a known field")
}

func (d *decoder) text(path string, to *string) error {
	if d.dec.PeekKind() != '"' {
		return d.skip(path, "must be a string")
	}
	token, err := d.dec.ReadToken()
	if err != nil {
		return err
	}
	*to = token.String()
	if strings.Contains(*to, "\x00") {
		d.add(path, "must not contain a NUL character")
	}
	return nil
}

// maxList is the maximum length of a list of strings.
const maxList = 100

// list reads a list of strings.
func (d *decoder) list(path string, to *[]string) error {
	if d.dec.PeekKind() != '[' {
		return d.skip(path, "must be a list")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		var text string
		at := fmt.Sprintf("%s[%d]", path, i)
		if i >= maxList {
			if err := d.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := d.text(at, &text); err != nil {
			return err
		}
		*to = append(*to, text)
		if i+1 == maxList && d.dec.PeekKind() != ']' {
			d.add(path, fmt.Sprintf("must have at most %d items", maxList))
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// data reads an object with any members.
func (d *decoder) data(path string, to *verification.Data) error {
	if d.dec.PeekKind() != '{' {
		return d.skip(path, "must be an object")
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	*to, err = verification.ParseData(raw)
	if invalid, ok := errors.AsType[*verification.Error](err); ok {
		for _, field := range invalid.Fields {
			d.add(join(path, field.Name), field.Message)
		}
		if len(invalid.Fields) == 0 {
			d.add(path, strings.TrimPrefix(invalid.Message, "it "))
		}
		return nil
	}
	return err
}

// skip adds a problem and skips the value.
func (d *decoder) skip(path, message string) error {
	d.add(path, message)
	return d.dec.SkipValue()
}

func (d *decoder) add(path, message string) {
	if len(d.problems) < maxDetails {
		d.problems = append(d.problems, verification.FieldError{Name: path, Message: message})
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// pathOf converts a pointer to a path such as input.items[0].name. It cuts a very
// long path: an error repeats only the first maxName characters.
func pathOf(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		if len(path) > 4*maxName {
			break
		}
		if token != "" && strings.Trim(token, "0123456789") == "" && path != "" {
			path += "[" + token + "]"
			continue
		}
		path = join(path, token)
	}
	return path
}
