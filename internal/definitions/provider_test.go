// Tests of the providers sections.

package definitions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
)

const providersFile = `providers:
  zeta:
    type: rest
    base_url: https://api.vendor.example
    request: {path: /v1, json: {n: 12345678901234567890}}
    response: {passed: "true"}
  alpha: {type: rest, base_url: "https://other.example", request: {path: /}, response: {passed: "true"}}
tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    providers:
      own: {type: rest, base_url: "https://own.example", request: {path: /}, response: {passed: "true"}}
`

func TestProvidersAreReadInTheOrderOfTheFile(t *testing.T) {
	b, err := definitions.ReadBootstrap("b.yaml", []byte(providersFile), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range append(b.Providers, b.Tenants[0].Providers...) {
		names = append(names, p.Type+" "+p.Name)
	}
	if diff := cmp.Diff([]string{"rest zeta", "rest alpha", "rest own"}, names); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	want := `{"base_url":"https://api.vendor.example","request":{"json":{"n":12345678901234567890},"path":"/v1"},"response":{"passed":"true"},"type":"rest"}`
	if got := string(b.Providers[0].Declaration); got != want {
		t.Errorf("declaration = %s, want %s", got, want)
	}
}

func TestAProblemOfADeclarationHasItsLine(t *testing.T) {
	b, err := definitions.ReadBootstrap("b.yaml", []byte(providersFile), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	invalid := verification.InvalidField("provider", "request.json.n", "is too large")
	want := "b.yaml:5:33: providers.zeta.request.json.n: is too large"
	if got := b.Providers[0].Explain(invalid); got.Error() != want || !errors.Is(got, verification.ErrInvalid) {
		t.Errorf("problem = %v, want %s", got, want)
	}
	want = "b.yaml:12:38: tenants[0].providers.own.request.path: is wrong"
	if got := b.Tenants[0].Providers[0].Explain(verification.InvalidField("provider", "request.path", "is wrong")); !strings.HasPrefix(got.Error(), "b.yaml:12:") || !strings.HasSuffix(got.Error(), want[13:]) {
		t.Errorf("problem = %v, want %s", got, want)
	}
}

func TestAProviderOfTheWrongFormIsReportedOnce(t *testing.T) {
	for change, want := range map[string]string{
		"type: rest\n    base":     "b.yaml:3:5: providers.zeta.type: must be one of rest",
		"passed: \"true\"}\n  alp": "b.yaml:6:16: providers.zeta.response.passt: unknown field",
		"base_url: https://api":    "b.yaml:2:3: providers.zeta.base_url: is required",
		"  zeta:":                  "the name of a provider is 1 to 64 letters",
	} {
		replaced := map[string]string{
			"type: rest\n    base":     "type: soap\n    base",
			"passed: \"true\"}\n  alp": "passt: \"true\"}\n  alp",
			"base_url: https://api":    "summary: https://api",
			"  zeta:":                  "  \"9 zeta\":",
		}[change]
		text := strings.Replace(providersFile, change, replaced, 1)
		_, err := definitions.ReadBootstrap("b.yaml", []byte(text), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want the one line %s", replaced, err, want)
		}
	}
}
