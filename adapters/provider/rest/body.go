// Bodies: JSON with one meaning, from the bytes that a vendor sent.

package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
func newResponse(status int, header http.Header, raw []byte, limit int64) vendorResponse {
	a := vendorResponse{status: status, header: header}
	text, fault := readable(header, raw, limit)
	if a.fault = fault; fault == "" && json.Valid(text) {
		a.body = verification.Data(`{"body":` + string(text) + `}`).Map()["body"]
	}
	return a
}

// readable returns a body in UTF-8, without compression and byte order mark. fault says why a body
// is refused: it cannot be decoded to at most limit bytes, its charset cannot be read, or it is
// JSON without a clear meaning.
func readable(header http.Header, raw []byte, limit int64) (text []byte, fault string) {
	raw, fault = unzipped(header, raw, limit)
	if fault == "" {
		text, fault = inUTF8(header, raw)
	}
	if fault == "" {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		fault = faultOf(text)
	}
	return text, fault
}

// unzipped returns a body without its Content-Encoding. Requests ask for none, but some servers
// compress all the same.
func unzipped(header http.Header, raw []byte, limit int64) (plain []byte, fault string) {
	switch coding := strings.ToLower(strings.TrimSpace(header.Get("Content-Encoding"))); {
	case coding == "" || coding == "identity" || len(raw) == 0:
		return raw, ""
	case coding != "gzip" && coding != "x-gzip":
		return nil, "the Content-Encoding of its body is not supported: send it as gzip, or as it is"
	}
	from, err := gzip.NewReader(bytes.NewReader(raw))
	if err == nil {
		plain, err = io.ReadAll(io.LimitReader(from, limit+1))
	}
	switch {
	case err != nil:
		return nil, "its body is not the gzip that its header names"
	case int64(len(plain)) > limit:
		return nil, fmt.Sprintf("its body has more than %d bytes once its gzip is decoded", limit)
	}
	return plain, ""
}

// inUTF8 converts a body from the charset that its header names.
func inUTF8(header http.Header, raw []byte) (text []byte, fault string) {
	_, params, _ := mime.ParseMediaType(header.Get("Content-Type")) // without a charset it is UTF-8
	charset := strings.ToLower(strings.TrimSpace(params["charset"]))
	if charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii" || len(raw) == 0 {
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
