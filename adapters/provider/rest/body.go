// Bodies: JSON with one meaning, from the bytes that a vendor sent.

package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/verifyd/verifyd/verification"
)

// newResponse returns the response with a body.
func newResponse(status int, header http.Header, raw []byte) vendorResponse {
	a := vendorResponse{status: status, header: header}
	text, fault := readable(header, raw)
	if a.fault = fault; fault == "" && json.Valid(text) {
		a.body = verification.Data(`{"body":` + string(text) + `}`).Map()["body"]
	}
	return a
}

// readable returns a body in UTF-8. fault says why a body is refused: its charset cannot be
// read, or it is JSON without a clear meaning.
func readable(header http.Header, raw []byte) (text []byte, fault string) {
	if text, fault = inUTF8(header, raw); fault == "" {
		fault = faultOf(text)
	}
	return text, fault
}

// inUTF8 converts a body from the charset that its header names.
func inUTF8(header http.Header, raw []byte) (text []byte, fault string) {
	_, params, _ := mime.ParseMediaType(header.Get("Content-Type")) // without a charset it is UTF-8
	charset := strings.ToLower(strings.TrimSpace(params["charset"]))
	if charset == "" || charset == "utf-8" || charset == "us-ascii" || len(raw) == 0 {
		return raw, ""
	}
	known, err := htmlindex.Get(charset)
	if err != nil {
		return nil, "the charset of its body is not supported"
	}
	text, _, err = transform.Bytes(unicode.BOMOverride(known.NewDecoder()), raw)
	if err != nil || bytes.ContainsRune(text, '\ufffd') { // what a decoder writes for bytes that the charset does not have
		return nil, "its body does not have the charset that its header names"
	}
	return text, ""
}

// faultOf returns why a JSON text has no clear meaning; empty if it has one, or is not
// JSON.
func faultOf(text []byte) string {
	if !json.Valid(text) {
		return ""
	}
	switch _, err := jsontext.NewDecoder(bytes.NewBuffer(text)).ReadValue(); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "its body has the same key twice in an object"
	case err != nil:
		return "its body has a text that is not valid UTF-8"
	}
	return ""
}
