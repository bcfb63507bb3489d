// Package openapitest checks responses against an OpenAPI document.
package openapitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Contract checks responses against an OpenAPI document. It is safe for concurrent
// use.
type Contract struct {
	doc     *openapi3.T
	options *openapi3filter.Options

	mu   sync.Mutex
	good map[[32]byte]bool // fingerprints of responses that matched, because checks are slow
}

// NewContract parses and validates a document, including its examples.
func NewContract(document []byte) (*Contract, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	formats := map[string]openapi3.StringFormatValidator{
		"uuid": openapi3.NewRegexpFormatValidator(`^` + UUID + `$`),
		"uri":  openapi3.NewCallbackValidator(CheckURL),
	}
	doc.SetStringFormatValidators(formats)
	closeResponses(doc)
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("validate the OpenAPI document: %w", err)
	}
	openapi3filter.RegisterBodyDecoder("application/jose", openapi3filter.PlainBodyDecoder)
	return &Contract{doc: doc, good: map[[32]byte]bool{}, options: &openapi3filter.Options{
		IncludeResponseStatus:   true,
		AuthenticationFunc:      openapi3filter.NoopAuthenticationFunc,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidators(formats)},
	}}, nil
}

// closeResponses makes the document strict for the checks: a later version may add a member to a response, and a client must accept it,
// but this one has only members that the document names.
func closeResponses(doc *openapi3.T) {
	seen := map[*openapi3.Schema]bool{}
	var shut func(*openapi3.SchemaRef)
	shut = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if s.Type.Is("object") && len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			s.AdditionalProperties.Has = new(false)
		}
		for _, p := range s.Properties {
			shut(p)
		}
		shut(s.Items)
		for _, all := range [][]*openapi3.SchemaRef{s.OneOf, s.AnyOf, s.AllOf} {
			for _, one := range all {
				shut(one)
			}
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				for _, media := range response.Value.Content {
					shut(media.Schema)
				}
			}
		}
	}
	if doc.Components == nil { // of a document that is refused later
		return
	}
	for _, s := range doc.Components.Schemas {
		shut(s)
	}
}

// UUID is the pattern of a UUID in lower case.
const UUID = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// CheckURL returns an error unless a text is an absolute URL.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return errors.New("not an absolute URL")
	}
	return nil
}

// Operations returns every operation of the document, such as "GET /v1/runs".
func (c *Contract) Operations() []string {
	var all []string
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			all = append(all, method+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// Operation returns the operation of a request; empty if the document has none.
func (c *Contract) Operation(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	template, item := c.find(path)
	if item == nil || item.GetOperation(method) == nil {
		return ""
	}
	return method + " " + template
}

// Statuses returns the documented statuses of an operation, such as "202".
func (c *Contract) Statuses(operation string) []string {
	method, path, _ := strings.Cut(operation, " ")
	var all []string
	for status := range c.doc.Paths.Value(path).GetOperation(method).Responses.Map() {
		all = append(all, status)
	}
	slices.Sort(all)
	return all
}

// Response is a response that was read.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Check returns an error if the response to a request does not match the document.
// The path is escaped and may have a query. The headers of a response to HEAD must be
// those of GET; its body is not checked.
func (c *Contract) Check(method, path string, r Response) error {
	path, _, _ = strings.Cut(path, "?")
	template, item := c.find(path)
	checked := fingerprint(method, template, r)
	if c.isKnown(checked) {
		return nil
	}
	documented, options := method, *c.options
	if method == http.MethodHead {
		documented, options.ExcludeResponseBody = http.MethodGet, true
	}
	var operation *openapi3.Operation
	name := ""
	switch {
	case item == nil:
		name = "RouteNotFound"
	case item.GetOperation(documented) == nil:
		name = "MethodNotAllowed"
	default:
		operation = item.GetOperation(documented)
	}
	if name != "" {
		status := map[string]int{"RouteNotFound": 404, "MethodNotAllowed": 405}[name]
		if r.Status != status {
			return fmt.Errorf("%s %s has no operation: want status %d, got %d", method, path, status, r.Status)
		}
		responses := openapi3.NewResponses()
		responses.Delete("default")
		responses.Set(fmt.Sprint(status), c.doc.Components.Responses[name])
		item, operation = &openapi3.PathItem{}, &openapi3.Operation{Responses: responses}
	}
	request := &http.Request{Method: documented, URL: &url.URL{Path: path}}
	route := &routers.Route{Spec: c.doc, Path: template, PathItem: item, Method: documented, Operation: operation}
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route, Options: &options},
		Status:                 r.Status, Header: r.Header, Body: io.NopCloser(bytes.NewReader(r.Body)), Options: &options,
	})
	if err == nil && r.Status == http.StatusNotModified {
		err = checkNotModified(r)
	}
	if err != nil {
		return fmt.Errorf("the response %d to %s %s does not match the OpenAPI document: %w", r.Status, method, path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good[checked] = true
	return nil
}

// isKnown reports whether a response of this fingerprint matched before.
func (c *Contract) isKnown(fingerprint [32]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good[fingerprint]
}

// Values of which the document prescribes only the form.
var (
	anyUUID      = regexp.MustCompile(`\b` + UUID + `\b`)
	anyTimestamp = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`)
)

// fingerprint returns the same value for responses that need only one check: those that
// differ at most in the headers Date and X-Request-Id, in UUIDs and in timestamps of the
// right form.
func fingerprint(method, template string, r Response) [32]byte {
	h := r.Header.Clone()
	for _, varies := range []string{"Date", "X-Request-Id"} {
		if h.Get(varies) != "" {
			h.Set(varies, "set")
		}
	}
	text := fmt.Appendf(nil, "%s %s %d %q %s", method, template, r.Status, h, r.Body)
	text = anyUUID.ReplaceAllLiteral(text, []byte("<uuid>"))
	return sha256.Sum256(anyTimestamp.ReplaceAllLiteral(text, []byte("<timestamp>")))
}

// checkNotModified checks a 304, which the library does not.
func checkNotModified(r Response) error {
	if len(r.Body) > 0 || r.Header.Get("Etag") == "" || r.Header.Get("Content-Type") != "" {
		return errors.New("a 304 must have an entity tag, no body and no content type")
	}
	return nil
}

// find returns the path of the document that matches the path of a request.
func (c *Contract) find(path string) (template string, item *openapi3.PathItem) {
	segments := strings.Split(path, "/")
	for template, item := range c.doc.Paths.Map() {
		parts := strings.Split(template, "/")
		if slices.EqualFunc(parts, segments, func(part, segment string) bool {
			return part == segment || strings.HasPrefix(part, "{") && segment != ""
		}) {
			return template, item
		}
	}
	return "", nil
}
