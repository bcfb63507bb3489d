// Decoding of request bodies: strict JSON, every problem reported at once.

package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification"
)

// maxBody is the maximum length of a request body, in bytes.
const maxBody = 1 << 20

// Bodies longer than largeBody bytes are decoded maxDecoding at a time, and one
// at a time for each tenant, which then pauses decodingRests times as long as the
// decoding took.
const (
	largeBody     = 64 << 10
	maxDecoding   = 2
	decodingRests = 3
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
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	// MaxBytesReader closes the connection of a client that sends too much. It
	// can do so only through the writer of net/http.
	_, err := body.ReadFrom(http.MaxBytesReader(w.ResponseWriter, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, badRequest("the body ended before it was complete")
	case body.Len() > 0 && !announced:
		return nil, errMediaType
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
	return !named || strings.EqualFold(charset, "utf-8")
}

// decoder decodes one JSON object. It collects the problems of fields and goes on
// after each; only a syntax error stops it.
type decoder struct {
	dec      *jsontext.Decoder
	problems []verification.FieldError
}

// reader reads the value of a member. The path names the member in a problem, such
// as "payload.notes".
type reader func(d *decoder, path string) error

// members returns the reader of a member by its name; nil if the name is not known.
type members func(name string) reader

// decode decodes a body. It returns the problems of its fields, and an error if
// the body as a whole is not valid.
func decode(body []byte, known members) ([]verification.FieldError, error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil, badRequest("the body is empty: send a JSON object")
	}
	d := &decoder{dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if kind := d.dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return nil, badRequest("the body must be a JSON object")
	}
	if err := d.object("", known); err != nil {
		return nil, d.malformed(err, body, known)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, badRequest("the body must be one JSON object, with nothing after it")
	}
	return d.problems, nil
}

// malformed returns the error for a body with a syntax error. It repeats nothing
// of the body except names of fields.
func (d *decoder) malformed(err error, body []byte, known members) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return badRequest("the body is not valid JSON")
	}
	path, message := pathOf(syntax.JSONPointer), ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "is given twice"
	case isEncodingError(syntax, body, known):
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
func isEncodingError(e *jsontext.SyntacticError, body []byte, known members) bool {
	d := &decoder{dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))}
	var later *jsontext.SyntacticError
	return !errors.As(d.object("", known), &later) || later.ByteOffset > e.ByteOffset
}

// object reads an object.
func (d *decoder) object(path string, known members) error {
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
		if read := known(name); read != nil {
			err = read(d, join(path, name))
		} else {
			err = d.skip(join(path, name), "is not a known field")
		}
		if err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// text reads a string.
func text(to *string) reader {
	return func(d *decoder, path string) error {
		if d.dec.PeekKind() != '"' {
			return d.skip(path, "must be a string")
		}
		token, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		*to = token.String()
		if strings.Contains(*to, "\x00") {
			d.add(path, "must not hold a NUL character")
		}
		return nil
	}
}

// data reads an object with any members.
func data(to *verification.Data) reader {
	return func(d *decoder, path string) error {
		if d.dec.PeekKind() != '{' {
			return d.skip(path, "must be an object")
		}
		raw, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		*to, err = verification.ParseData(raw)
		var invalid *verification.Error
		if errors.As(err, &invalid) {
			d.add(path, strings.TrimPrefix(invalid.Message, "it "))
			return nil
		}
		return err
	}
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
