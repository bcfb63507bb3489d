// Config: a declaration as a file has it.

package rest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

type (
	config struct {
		Type     string          `json:"type"`
		Summary  string          `json:"summary"`
		Screens  bool            `json:"screens"`
		BaseURL  string          `json:"base_url"`
		CA       string          `json:"ca"`
		Auth     authConfig      `json:"auth"`
		Limits   limits          `json:"limits"`
		With     json.RawMessage `json:"with"`
		Request  requestConfig   `json:"request"`
		Response responseConfig  `json:"response"`
		Poll     *pollConfig     `json:"poll"`
		Callback *callbackConfig `json:"callback"`
		Return   *returnConfig   `json:"return"`
	}
	authConfig struct {
		Bearer string        `json:"bearer"`
		Basic  *basicConfig  `json:"basic"`
		Header *headerConfig `json:"header"`
		OAuth2 *oauth2Config `json:"oauth2"`
		MTLS   *mtlsConfig   `json:"mtls"`
	}
	basicConfig struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}
	headerConfig struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	oauth2Config struct {
		TokenURL     string            `json:"token_url"`
		ClientID     string            `json:"client_id"`
		ClientSecret string            `json:"client_secret"`
		Scopes       []string          `json:"scopes"`
		Params       map[string]string `json:"params"`
	}
	mtlsConfig struct {
		Certificate string `json:"certificate"`
		Key         string `json:"key"`
	}
	requestConfig struct {
		Method    string                `json:"method"`
		Path      string                `json:"path"`
		Query     map[string]string     `json:"query"`
		Headers   map[string]string     `json:"headers"`
		JSON      any                   `json:"json"`
		Form      map[string]string     `json:"form"`
		Multipart map[string]partConfig `json:"multipart"`
	}
	// partConfig is a text, or {document: ...}.
	partConfig struct{ Text, Document string }

	returnConfig struct {
		Failed  string `json:"failed"`
		Pending string `json:"pending"`
	}
	responseConfig struct {
		Redirect     string                `json:"redirect"`
		Pending      string                `json:"pending"`
		NoCoverage   wordedConfig          `json:"no_coverage"`
		Inconclusive wordedConfig          `json:"inconclusive"`
		Passed       string                `json:"passed"`
		Failed       wordedConfig          `json:"failed"`
		Handle       string                `json:"handle"`
		Data         map[string]dataConfig `json:"data"`
	}
	// wordedConfig is a condition, or {when: ..., text: ...} with what people read where it holds.
	wordedConfig struct{ When, Text string }
	dataConfig   struct {
		Value    string          `json:"value"`
		Type     string          `json:"type"`
		Label    string          `json:"label"`
		Unit     string          `json:"unit"`
		Scale    *workflow.Scale `json:"scale"`
		Optional bool            `json:"optional"`
	}
	pollConfig struct {
		requestConfig
		EverySeconds float64         `json:"every_seconds"`
		Response     *responseConfig `json:"response"`
	}
	callbackConfig struct {
		HMAC   *signatureConfig `json:"hmac_sha256"`
		Header *headerConfig    `json:"header"`
	}
	signatureConfig struct {
		Header string `json:"header"`
		Secret string `json:"secret"`
	}
)

// UnmarshalJSON decodes a part of a multipart body.
func (p *partConfig) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte{'"'}) {
		return json.Unmarshal(raw, &p.Text)
	}
	var object struct {
		Document string `json:"document"`
	}
	err := json.Unmarshal(raw, &object)
	p.Document = object.Document
	return err
}

// UnmarshalJSON decodes a condition with or without a text.
func (c *wordedConfig) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte{'"'}) {
		return json.Unmarshal(raw, &c.When)
	}
	type object wordedConfig
	return json.Unmarshal(raw, (*object)(c))
}

// decode decodes a declaration. The schema of the file has checked its form.
func decode(declaration verification.Data) (c config, err error) {
	c.Limits = defaultLimits()
	d := json.NewDecoder(bytes.NewReader(declaration))
	d.DisallowUnknownFields()
	d.UseNumber()
	return c, d.Decode(&c)
}

func joined(path ...string) string { return strings.Join(path, ".") }
