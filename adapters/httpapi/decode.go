// Request bodies: strict JSON, every fault told at once.

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

// maxBody is the longest request body, in bytes.
const maxBody = 1 << 20

// Bodies longer than largeBody bytes are decoded maxDecoding at a time, and one
// at a time for a tenant, which then rests three times as long as that took.
const (
	largeBody     = 64 << 10
	maxDecoding   = 2
	decodingRests = 3
)

// readBody reads a body that announces itself as JSON. Nothing at all is an
// empty body, whatever it announces.
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
	// The reader closes the connection of a client that sends too much, which
	// it can only do with the server's own writer.
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
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

// isJSON tells whether the headers announce JSON in UTF-8, and nothing around
// it.
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

// decoder reads one JSON object. A fault of one field is noted and the reading
// goes on; only what is not JSON at all ends it.
type decoder struct {
	dec    *jsontext.Decoder
	faults []verification.FieldError
}

// decode reads a body whose members are taken by member, which calls one of
// the decoder's methods for the value of each. It returns the faults of
// fields, and an error for a body that is at fault as a whole.
func decode(body []byte, member func(d *decoder, name, at string) error) ([]verification.FieldError, error) {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil, badRequest("the body is empty: send a JSON object")
	}
	d := &decoder{dec: jsontext.NewDecoder(bytes.NewBuffer(body))}
	if kind := d.dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return nil, badRequest("the body must be a JSON object")
	}
	if err := d.object("", func(name, at string) error { return member(d, name, at) }); err != nil {
		return nil, d.malformed(err)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, badRequest("the body must be one JSON object, with nothing after it")
	}
	return d.faults, nil
}

// malformed says what is wrong with a body that is not the JSON it should be,
// without repeating any of it but the names of fields.
func (d *decoder) malformed(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return badRequest("the body is not valid JSON")
	}
	at, message := pathOf(syntax.JSONPointer), ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "is given twice"
	case strings.Contains(syntax.Err.Error(), "UTF-8"), strings.Contains(syntax.Err.Error(), "surrogate"):
		message = "must be valid UTF-8"
	default:
		message = fmt.Sprintf("is not valid JSON at byte %d", syntax.ByteOffset)
	}
	if at == "" {
		return badRequest("the body " + message)
	}
	return badFields(append(d.faults, verification.FieldError{Name: at, Message: message}))
}

// object reads an object member by member.
func (d *decoder) object(at string, member func(name, at string) error) error {
	if d.dec.PeekKind() != '{' {
		return d.wrong(at, "must be an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		if err := member(text, join(at, text)); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// text reads a string.
func (d *decoder) text(at string, to *string) error {
	if d.dec.PeekKind() != '"' {
		return d.wrong(at, "must be a string")
	}
	token, err := d.dec.ReadToken()
	if err != nil {
		return err
	}
	*to = token.String()
	if strings.Contains(*to, "\x00") {
		d.fault(at, "must not hold a NUL character")
	}
	return nil
}

// data reads an object whose fields are not ours to know.
func (d *decoder) data(at string, to *verification.Data) error {
	if d.dec.PeekKind() != '{' {
		return d.wrong(at, "must be an object")
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	*to, err = verification.ParseData(raw)
	var refused *verification.Error
	if errors.As(err, &refused) {
		d.fault(at, strings.TrimPrefix(refused.Message, "it "))
		return nil
	}
	return err
}

// unknown notes a member that the shape does not have.
func (d *decoder) unknown(at string) error { return d.wrong(at, "is not a known field") }

// wrong notes a fault and goes on behind the value.
func (d *decoder) wrong(at, message string) error {
	d.fault(at, message)
	return d.dec.SkipValue()
}

func (d *decoder) fault(at, message string) {
	if len(d.faults) < maxDetails {
		d.faults = append(d.faults, verification.FieldError{Name: at, Message: message})
	}
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// pathOf writes a pointer the way fields are named: input.items[0].name. A
// very long one is left unfinished: a refusal cuts it anyway.
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
