// Requests: from the values of a check to an HTTP request.

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

type request struct {
	method  string
	path    value
	query   []pair
	headers []pair
	json    value // nil without a JSON body
	form    []pair
	parts   []part // of a multipart body
	kind    string // the field of the body: json, form, multipart or empty
}

type pair struct {
	name  string
	value value
}

type part struct {
	pair
	document bool // value is the id of an upload, or an object with document_id
}

// request compiles a request. reads collects into c.reads.
func (c *compiler) request(at string, r requestConfig, method string, vars map[string]verification.Data) *request {
	if r.Method != "" {
		method = r.Method
	}
	if !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, "?#") {
		c.problem(joined(at, "path"), "must begin with / and have no ? or #: put parameters into query")
	}
	for segment := range strings.SplitSeq(r.Path, "/") {
		if plain, err := url.PathUnescape(segment); err == nil && (plain == "." || plain == "..") {
			c.problem(joined(at, "path"), "must not have the segment "+segment)
		}
	}
	compiled := &request{
		method: method, path: c.text(joined(at, "path"), r.Path, url.PathEscape, vars),
		query: c.pairs(joined(at, "query"), r.Query, vars), headers: c.pairs(joined(at, "headers"), r.Headers, vars),
	}
	for _, h := range compiled.headers {
		c.headerName(joined(at, "headers", h.name), h.name)
	}
	given := []string{}
	if r.JSON != nil {
		given, compiled.json = append(given, "json"), c.value(joined(at, "json"), r.JSON, vars)
	}
	if r.Form != nil {
		given, compiled.form = append(given, "form"), c.pairs(joined(at, "form"), r.Form, vars)
	}
	if r.Multipart != nil {
		given = append(given, "multipart")
		for _, name := range slices.Sorted(maps.Keys(r.Multipart)) {
			p, path := r.Multipart[name], joined(at, "multipart", name)
			if p.Document != "" {
				compiled.parts = append(compiled.parts, part{pair{name, c.text(joined(path, "document"), p.Document, nil, vars)}, true})
			} else {
				compiled.parts = append(compiled.parts, part{pair{name, c.text(path, p.Text, nil, vars)}, false})
			}
		}
	}
	switch {
	case len(given) > 1:
		c.problem(at, "must have only one of json, form and multipart")
	case len(given) == 1:
		compiled.kind = given[0]
		if method == http.MethodGet {
			c.problem(joined(at, given[0]), "a GET request has no body")
		}
	}
	return compiled
}

func (c *compiler) pairs(at string, of map[string]string, vars map[string]verification.Data) (pairs []pair) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		pairs = append(pairs, pair{name, c.text(joined(at, name), of[name], nil, vars)})
	}
	return pairs
}

// errRequest is an error of a request that cannot be made: another attempt would fail
// in the same way.
type errRequest struct {
	field string
	cause error
}

func (e *errRequest) Error() string { return e.field + ": " + e.cause.Error() }

func (e *errRequest) Unwrap() error { return e.cause }

// build makes the HTTP request. The caller closes its body.
func (r *request) build(ctx context.Context, p *compiled, run verification.RunRef, vars map[string]any) (*http.Request, error) {
	address, err := r.address(p.base, vars)
	if err != nil {
		return nil, err
	}
	body, length, kind, err := r.body(ctx, p, run, vars)
	if err != nil {
		return nil, err
	}
	made, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, &errRequest{"path", errors.New("it gives no valid URL")}
	}
	if length >= 0 {
		made.ContentLength = length
	}
	made.Header.Set("Accept", "application/json")
	made.Header.Set("User-Agent", "verifyd")
	if kind != "" {
		made.Header.Set("Content-Type", kind)
	}
	for _, h := range r.headers {
		s, err := h.string(vars)
		switch {
		case err != nil:
			err = &errRequest{"headers." + h.name, err}
		case strings.ContainsAny(s, "\r\n\x00"):
			err = &errRequest{"headers." + h.name, errors.New("the value has a line break")}
		}
		if err != nil {
			closeBody(made)
			return nil, err
		}
		made.Header.Set(h.name, s)
	}
	return made, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // it was only read
	}
}

// address returns the URL. A value in the path is one segment of it.
func (r *request) address(base string, vars map[string]any) (string, error) {
	v, err := r.path(vars)
	if err != nil {
		return "", &errRequest{"path", err}
	}
	path, _ := v.(string)
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", &errRequest{"path", errors.New("a value must not be . or .. in it")}
		}
	}
	query := url.Values{}
	for _, q := range r.query {
		s, err := q.string(vars)
		if err != nil {
			return "", &errRequest{"query." + q.name, err}
		}
		if s != "" {
			query.Set(q.name, s)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return base + path, nil
}

// body returns the body with its length, -1 if net/http knows it, and its media type.
func (r *request) body(ctx context.Context, p *compiled, run verification.RunRef, vars map[string]any) (body io.Reader, length int64, kind string, err error) {
	switch r.kind {
	case "json":
		v, err := r.json(vars)
		if err != nil {
			return nil, 0, "", &errRequest{"json", err}
		}
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return nil, 0, "", &errRequest{"json", errors.New("it cannot be encoded")}
		}
		return bytes.NewReader(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), -1, "application/json", nil
	case "form":
		form := url.Values{}
		for _, f := range r.form {
			s, err := f.string(vars)
			if err != nil {
				return nil, 0, "", &errRequest{"form." + f.name, err}
			}
			form.Set(f.name, s)
		}
		return strings.NewReader(form.Encode()), -1, "application/x-www-form-urlencoded", nil
	case "multipart":
		m := &multipartBody{}
		m.writer = multipart.NewWriter(&m.head)
		for _, one := range r.parts {
			if err := m.add(ctx, p.opt.Documents, run, one, vars); err != nil {
				_ = m.Close() // what was opened is only read
				return nil, 0, "", err
			}
		}
		return m, m.finish(), m.writer.FormDataContentType(), nil
	}
	return http.NoBody, -1, "", nil
}

// string renders a value as text; null is empty.
func (p pair) string(vars map[string]any) (string, error) {
	v, err := p.value(vars)
	if err != nil {
		return "", err
	}
	return textOf(v)
}

// textOf returns a plain value as text: a string as it is, nothing for null, and JSON
// for any other.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}

// multipartBody is a multipart body that streams documents. Its length is known.
type multipartBody struct {
	head    bytes.Buffer // what writer wrote since the last reader was added
	writer  *multipart.Writer
	readers []io.Reader
	closers []io.Closer
	length  int64
	all     io.Reader
}

// add adds one part. A document that the customer did not send is left out.
func (m *multipartBody) add(ctx context.Context, documents verification.DocumentStore, run verification.RunRef, one part, vars map[string]any) error {
	v, err := one.value(vars)
	if err != nil {
		return &errRequest{"multipart." + one.name, err}
	}
	if object, is := v.(map[string]any); is && one.document {
		v = object["document_id"]
	}
	s, err := textOf(v)
	switch {
	case err != nil:
		return &errRequest{"multipart." + one.name, err}
	case !one.document:
		return m.writer.WriteField(one.name, s)
	case s == "":
		return nil
	case documents == nil:
		return &errRequest{"multipart." + one.name, errors.New("there is no document store")}
	}
	d, err := documents.Document(ctx, run, s)
	if err != nil {
		return unread(one.name, err)
	}
	content, err := documents.OpenDocument(ctx, run, s)
	if err != nil {
		return unread(one.name, err)
	}
	m.closers = append(m.closers, content)
	fileType, _ := verification.FileTypeOf(d.MediaType)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition(one.name, one.name+fileType.Extension))
	header.Set("Content-Type", d.MediaType)
	header.Set("Content-Length", strconv.FormatInt(d.Size, 10))
	if _, err := m.writer.CreatePart(header); err != nil {
		return &errRequest{"multipart." + one.name, err}
	}
	m.cut()
	m.readers = append(m.readers, &documentReader{io.LimitReader(content, d.Size), one.name})
	m.length += d.Size
	return nil
}

// cut makes a reader of what was written since the last one.
func (m *multipartBody) cut() {
	m.length += int64(m.head.Len())
	m.readers = append(m.readers, bytes.NewReader(bytes.Clone(m.head.Bytes())))
	m.head.Reset()
}

// finish ends the body and returns its length.
func (m *multipartBody) finish() int64 {
	_ = m.writer.Close() // a buffer takes everything
	m.cut()
	m.all = io.MultiReader(m.readers...)
	return m.length
}

func (m *multipartBody) Read(b []byte) (int, error) { return m.all.Read(b) }

func (m *multipartBody) Close() (err error) {
	for _, c := range m.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// documentReader marks the errors of the document store, so that they are not taken for
// errors of the connection.
type documentReader struct {
	io.Reader
	name string
}

func (d *documentReader) Read(b []byte) (int, error) {
	n, err := d.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unread(d.name, err)
	}
	return n, err
}

// errUnread says that a document cannot be read now.
var errUnread = errors.New("the document cannot be read")

// unread returns the error of a document. One that does not exist will never be read.
func unread(name string, err error) error {
	if errors.Is(err, verification.ErrNotFound) || errors.Is(err, verification.ErrInvalid) {
		return &errRequest{"multipart." + name, errors.New("the run has no such document")}
	}
	return fmt.Errorf("multipart.%s: %w", name, errUnread)
}
