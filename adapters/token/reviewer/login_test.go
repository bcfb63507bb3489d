// Tests of signing in at an issuer, with the redirects of a browser.

package reviewer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/oidctest"
	"github.com/verifyd/verifyd/verification"
)

const (
	callback = "https://verify.example/console/sign-in/callback"
	signedIn = "https://verify.example/console/sign-in"
)

// login is a login at a provider, whose roles are in the claim groups.
type login struct {
	reviewer.Login
	provider *oidctest.Provider
	clock    *manualClock
}

func newLogin(t *testing.T, changes ...func(*reviewer.OIDCOptions)) login {
	t.Helper()
	clock := newManualClock()
	p := oidctest.New(t, clock.now)
	opt := reviewer.OIDCOptions{
		Issuer: p.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Now: clock.now,
		RolesClaim: "groups", Roles: map[string]verification.Role{
			"staff": verification.RoleViewer, "compliance": verification.RoleReviewer, "leads": verification.RoleAdmin, "audit": verification.RoleAuditor,
		},
	}
	for _, change := range changes {
		change(&opt)
	}
	o, err := reviewer.NewOIDC(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	l, err := reviewer.NewLogin(o, callback, signedIn)
	if err != nil {
		t.Fatal(err)
	}
	p.SignIn(aPerson())
	return login{l, p, clock}
}

// aPerson returns the claims of a reviewer.
func aPerson(fields ...any) map[string]any {
	return but(map[string]any{"sub": "u-1", "email": "ada@example.com", "tenant": string(aTenant), "groups": []string{"all", "compliance"}}, fields...)
}

// ada is the reviewer of these claims.
func (l login) ada() verification.Reviewer {
	who := ada("ada@example.com")
	who.Identity = verification.IssuedIdentity(l.provider.URL, "u-1")
	return who
}

// begin follows the redirect to the provider, and returns the attempt and the answer.
func (l login) begin(t *testing.T) (attempt string, answer url.Values) {
	t.Helper()
	to, attempt, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	client.CloseIdleConnections()
	back, err := got.Location()
	if err != nil {
		body, _ := io.ReadAll(got.Body)
		t.Fatalf("the provider answers %d %s", got.StatusCode, body)
	}
	if !strings.HasPrefix(back.String(), callback+"?") {
		t.Fatalf("the provider sends the browser to %s", back)
	}
	return attempt, back.Query()
}

func TestASignInAtTheIssuerNamesTheReviewer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*reviewer.OIDCOptions)
		public bool
	}{
		"with a secret": {func(*reviewer.OIDCOptions) {}, false},
		"without one":   {func(o *reviewer.OIDCOptions) { o.ClientSecret = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogin(t, c.change)
			if c.public {
				l.provider.Public()
			}
			attempt, answer := l.begin(t)
			who, hint, err := l.Finish(t.Context(), attempt, answer)
			if err != nil || !reflect.DeepEqual(who, l.ada()) || strings.Count(hint, ".") != 2 {
				t.Errorf("Finish = %+v, %q, %v (%v)", who, hint, err, causeOf(err))
			}
			if len(attempt) > 500 {
				t.Errorf("the attempt has %d bytes", len(attempt))
			}
			if _, _, err := l.Finish(t.Context(), attempt, answer); !errors.Is(err, verification.ErrUnauthenticated) {
				t.Errorf("the same code once more: %v, want ErrUnauthenticated", err)
			}
		})
	}
}

func TestAPersonInTwoHundredGroupsSignsIn(t *testing.T) {
	for groups, want := range map[int]error{200: nil, 2000: verification.ErrUnauthenticated} {
		l := newLogin(t)
		claim := []string{"compliance"}
		for i := range groups - 1 {
			claim = append(claim, fmt.Sprintf("8a1f0c52-7d0e-4f55-9a6b-%012x", i)) // as of Entra ID
		}
		l.provider.SignIn(aPerson("groups", claim))
		attempt, answer := l.begin(t)
		if _, raw, err := l.Finish(t.Context(), attempt, answer); !errors.Is(err, want) {
			t.Errorf("Finish with %d groups, an ID token of %d bytes: %v (%v), want %v", groups, len(raw), err, causeOf(err), want)
		}
	}
}

func TestOneTenantNeedsNoClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		only  verification.TenantID
		claim any // nil for none
		want  verification.TenantID
	}{
		"the tenant of the issuer":    {aTenant, nil, aTenant},
		"the same tenant":             {aTenant, string(aTenant), aTenant},
		"another tenant":              {aTenant, "0191f3c0-0000-7000-8000-0000000000ff", ""},
		"a claim that is no tenant":   {aTenant, "acme", ""},
		"a claim that is no text":     {aTenant, 7, ""},
		"no claim and no such option": {"", nil, ""},
	} {
		l := newLogin(t, func(o *reviewer.OIDCOptions) { o.Tenant = tt.only })
		claims := aPerson()
		if delete(claims, "tenant"); tt.claim != nil {
			claims["tenant"] = tt.claim
		}
		l.provider.SignIn(claims)
		attempt, answer := l.begin(t)
		who, _, err := l.Finish(t.Context(), attempt, answer)
		if who.Tenant != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, verification.ErrUnauthenticated) {
			t.Errorf("%s: %q, %v; want %q", name, who.Tenant, err, tt.want)
		}
	}
}

// Two accounts whose names a reader cannot tell apart may be one person.
func TestNamesThatLookTheSameAreTheSame(t *testing.T) {
	l := newLogin(t, func(o *reviewer.OIDCOptions) { o.ReviewerClaim = "name" })
	named := func(name, subject string) verification.Reviewer {
		t.Helper()
		l.provider.SignIn(aPerson("name", name, "sub", subject))
		attempt, answer := l.begin(t)
		who, _, err := l.Finish(t.Context(), attempt, answer)
		if err != nil {
			t.Fatalf("%q: %v (%v)", name, err, causeOf(err))
		}
		return who
	}
	first := named("Zoë Ångström", "u-1")
	for _, name := range []string{
		"Zoe\u0308 A\u030angstro\u0308m", "ZOË ÅNGSTRÖM", "Zoë\u200b Ångström", "\u202eZoë Ångström\u202c", "Z\u00adoë\u00a0Ångström\u2060", "Ｚoë Ångström",
	} {
		if again := named(name, "u-2"); !again.Person().MayBe(first.Person()) {
			t.Errorf("%q (as %q) may not be %q, want that they may be one person", name, again.Name, first.Name)
		}
	}
	if other := named("Zoe Ångström", "u-2"); other.Person().MayBe(first.Person()) {
		t.Errorf("%q may be %q", other.Name, first.Name)
	}
	// A name of Persian keeps its joiner.
	if who := named("محمد\u200cرضا", "u-3"); who.Name != "محمد\u200cرضا" {
		t.Errorf("name = %q, want its joiner", who.Name)
	}
}

func TestTheRoleIsTheHighestThatTheClaimGives(t *testing.T) {
	nested := func(o *reviewer.OIDCOptions) { o.RolesClaim = "realm_access.roles" }
	url := func(o *reviewer.OIDCOptions) { o.RolesClaim = "https://verify.example/roles" }
	same := func(*reviewer.OIDCOptions) {}
	for name, c := range map[string]struct {
		change func(*reviewer.OIDCOptions)
		claims []any
		want   verification.Role
	}{
		"a list":                      {same, []any{"groups", []string{"leads", "staff"}}, verification.RoleAdmin},
		"in any order":                {same, []any{"groups", []string{"staff", "compliance", "staff"}}, verification.RoleReviewer},
		"an auditor":                  {same, []any{"groups", "audit"}, verification.RoleAuditor},
		"an auditor who leads":        {same, []any{"groups", []string{"audit", "leads"}}, verification.RoleAuditor},
		"a leader who audits":         {same, []any{"groups", []string{"leads", "audit"}}, verification.RoleAuditor},
		"a string":                    {same, []any{"groups", "staff"}, verification.RoleViewer},
		"unknown values":              {same, []any{"groups", []string{"admin", "viewer", ""}}, ""},
		"values that are no strings":  {same, []any{"groups", []any{1, nil, map[string]any{"leads": true}}}, ""},
		"an empty list":               {same, []any{"groups", []string{}}, ""},
		"no claim":                    {same, []any{"groups", nil}, ""},
		"an object":                   {same, []any{"groups", map[string]any{"leads": "leads"}}, ""},
		"a path":                      {nested, []any{"realm_access", map[string]any{"roles": []string{"leads"}}}, verification.RoleAdmin},
		"a path that leads nowhere":   {nested, []any{"realm_access", "leads"}, ""},
		"a claim with a dot":          {nested, []any{"realm_access.roles", []string{"staff"}}, verification.RoleViewer},
		"a claim that is named a URL": {url, []any{"https://verify.example/roles", []string{"leads"}}, verification.RoleAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogin(t, c.change)
			l.provider.SignIn(aPerson(c.claims...))
			attempt, answer := l.begin(t)
			who, _, err := l.Finish(t.Context(), attempt, answer)
			if who.Role != c.want || (c.want == "") != errors.Is(err, verification.ErrForbidden) {
				t.Errorf("Finish = %+v, %v; want the role %q", who, err, c.want)
			}
		})
	}
}

func TestTheTeamsAreTheValuesThatAreConfigured(t *testing.T) {
	l := newLogin(t, func(o *reviewer.OIDCOptions) {
		o.Teams = map[string]string{"cn=seniors": "Seniors", "old-seniors": "Seniors", "kyc": "kyc"}
	})
	for want, groups := range map[string][]string{
		"":            {"staff", "others"},
		"Seniors":     {"staff", "cn=seniors", "old-seniors"},
		"kyc Seniors": {"kyc", "staff", "old-seniors", "Seniors"},
	} {
		l.provider.SignIn(aPerson("groups", groups))
		attempt, answer := l.begin(t)
		who, _, err := l.Finish(t.Context(), attempt, answer)
		if err != nil || strings.Join(who.Teams, " ") != want {
			t.Errorf("the groups %q give the teams %q, %v, want %s", groups, who.Teams, err, want)
		}
	}
}

func TestForgedAnswersToASignInAreRefused(t *testing.T) {
	l := newLogin(t)
	otherAttempt, otherAnswer := l.begin(t)
	for name, c := range map[string]struct {
		attempt func(string) string
		answer  func(url.Values)
		lies    map[string]any
	}{
		"another state":         {answer: func(q url.Values) { q.Set("state", "x") }},
		"no state":              {answer: func(q url.Values) { q.Del("state") }},
		"no attempt":            {attempt: func(string) string { return "" }, answer: func(q url.Values) { q.Del("state") }},
		"an attempt of dots":    {attempt: func(string) string { return ".." }, answer: func(q url.Values) { q.Del("state") }},
		"a huge attempt":        {attempt: func(a string) string { return a + strings.Repeat("x", 500) }},
		"another attempt":       {attempt: func(string) string { return otherAttempt }},
		"the code of another":   {answer: func(q url.Values) { q.Set("code", otherAnswer.Get("code")) }},
		"no code":               {answer: func(q url.Values) { q.Del("code") }},
		"a code of nobody":      {answer: func(q url.Values) { q.Set("code", "x") }},
		"refused by the issuer": {answer: func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }},
		"from another issuer":   {answer: func(q url.Values) { q.Set("iss", "https://evil.example") }},
		"another nonce":         {lies: map[string]any{"nonce": "x"}},
		"no nonce":              {lies: map[string]any{"nonce": nil}},
		"another audience":      {lies: map[string]any{"aud": "another-client"}},
		"another party":         {lies: map[string]any{"aud": []string{oidctest.ClientID, "another"}, "azp": "another"}},
		"another iss":           {lies: map[string]any{"iss": "https://evil.example"}},
		"expired":               {lies: map[string]any{"exp": noon.Add(-time.Hour).Unix()}},
		"no tenant":             {lies: map[string]any{"tenant": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			l.provider.Lie(c.lies)
			attempt, answer := l.begin(t)
			if c.attempt != nil {
				attempt = c.attempt(attempt)
			}
			if c.answer != nil {
				c.answer(answer)
			}
			who, hint, err := l.Finish(t.Context(), attempt, answer)
			if !errors.Is(err, verification.ErrUnauthenticated) || !reflect.DeepEqual(who, verification.Reviewer{}) || hint != "" {
				t.Errorf("Finish = %+v, %q, %v; want ErrUnauthenticated", who, hint, err)
			}
			if strings.Contains(err.Error(), "eyJ") {
				t.Errorf("the error quotes a token: %v", err)
			}
		})
	}
}

func TestASignInFollowsTheKeysOfTheIssuer(t *testing.T) {
	l := newLogin(t)
	for range 3 {
		attempt, answer := l.begin(t)
		if _, _, err := l.Finish(t.Context(), attempt, answer); err != nil {
			t.Errorf("%v (%v)", err, causeOf(err))
		}
		l.provider.Rotate()
		l.clock.advance(time.Minute) // the shortest time between two fetches
	}
}

func TestWithoutTheIssuerASignInIsUnavailable(t *testing.T) {
	l := newLogin(t)
	l.provider.Down(true)
	if _, _, err := l.Begin(t.Context()); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Begin = %v, want ErrUnavailable", err)
	}
	l.provider.Down(false)
	if _, _, err := l.Begin(t.Context()); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Begin = %v, want ErrUnavailable until some seconds have passed", err)
	}
	l.clock.advance(10 * time.Second)
	attempt, answer := l.begin(t)
	l.provider.Down(true)
	if _, _, err := l.Finish(t.Context(), attempt, answer); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Finish = %v, want ErrUnavailable", err)
	}
	l.clock.advance(2 * time.Hour)
	if to, err := l.SignOutURL(t.Context(), ""); err != nil || to == "" {
		t.Errorf("SignOutURL = %q, %v; want that of the document before", to, err)
	}
}

func TestSigningOutDoesNotWaitForTheIssuer(t *testing.T) {
	called, resume := make(chan struct{}), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(called)
		<-resume
	}))
	l := newLogin(t, func(o *reviewer.OIDCOptions) { o.Issuer = hanging.URL })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	if to, err := l.SignOutURL(ctx, ""); to != "" || !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("SignOutURL = %q, %v; want ErrUnavailable", to, err)
	}
	close(resume)
	hanging.Close()
}

func TestSigningOutNamesTheClientAndTheWayBack(t *testing.T) {
	l := newLogin(t)
	raw, err := l.SignOutURL(t.Context(), "a.b.c")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"client_id": {oidctest.ClientID}, "post_logout_redirect_uri": {signedIn}, "id_token_hint": {"a.b.c"}}
	if u.Path != "/end" || u.Query().Encode() != want.Encode() {
		t.Errorf("SignOutURL = %s, want the query %s", raw, want.Encode())
	}
}

func TestALoginNeedsAClientAndRoles(t *testing.T) {
	for name, o := range map[string]reviewer.OIDCOptions{
		"no client": {Issuer: "https://id.example", Audience: "a", RolesClaim: "roles", Now: newManualClock().now},
		"no roles":  {Issuer: "https://id.example", ClientID: "c", Now: newManualClock().now},
	} {
		verifier, err := reviewer.NewOIDC(o)
		if err != nil {
			t.Fatal(err)
		}
		defer verifier.Close()
		if _, err := reviewer.NewLogin(verifier, callback, signedIn); err == nil {
			t.Errorf("%s: NewLogin accepts it", name)
		}
	}
}

func TestWithoutAnAudienceNoTokenOfTheIssuerIsABearer(t *testing.T) {
	l := newLogin(t)
	attempt, answer := l.begin(t)
	_, idToken, err := l.Finish(t.Context(), attempt, answer)
	if err != nil {
		t.Fatal(err)
	}
	o, err := reviewer.NewOIDC(reviewer.OIDCOptions{Issuer: l.provider.URL, ClientID: oidctest.ClientID, Now: l.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if c, err := o.Verify(t.Context(), idToken); !errors.Is(err, verification.ErrUnauthenticated) {
		t.Errorf("Verify = %+v, %v; want ErrUnauthenticated", c, err)
	}
}

func TestTheSecretIsSentAsTheIssuerSupports(t *testing.T) {
	const none, basic, body = "no secret", "basic", "body"
	for _, c := range []struct {
		methods []string // of the discovery document
		secret  string
		want    string
	}{
		{nil, "s", basic},
		{[]string{"client_secret_basic"}, "s", basic},
		{[]string{"client_secret_post", "client_secret_basic"}, "s", basic},
		{[]string{"client_secret_post"}, "s", body},
		{[]string{"client_secret_basic"}, "", none},
	} {
		i := newIssuer(t)
		i.says(discovery, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"token_endpoint_auth_methods_supported": c.methods,
		})
		got := none
		i.answer("/token", func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := r.BasicAuth(); ok {
				got = basic
			} else if r.PostFormValue("client_secret") != "" {
				got = body
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "of no use", "token_type": "Bearer"}`)
		})
		err := signInAt(t, i, c.secret)
		if !errors.Is(err, verification.ErrUnauthenticated) || !strings.Contains(err.Error(), "the issuer gave no ID token") {
			t.Errorf("an exchange without an ID token: %v, want that there is none", err)
		}
		if got != c.want {
			t.Errorf("methods %q: sent %s, want %s", c.methods, got, c.want)
		}
	}
}

func TestATokenEndpointMayCompressItsAnswer(t *testing.T) {
	const plain, end = `{"access_token": "of no use", "token_type": "Bearer", "expires_in": 3600`, `}`
	zipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text) // to memory
		_ = z.Close()
		return b.String()
	}
	for name, c := range map[string]struct{ coding, response string }{
		"plain":                   {"", plain + end},
		"gzip":                    {"gzip", zipped(plain + end)},
		"a byte order mark":       {"", "\ufeff" + plain + end},
		"gzip, a byte order mark": {"gzip", zipped("\ufeff" + plain + end)},
		"seconds with a fraction": {"", plain + ".0" + end},
	} {
		i := newIssuer(t)
		i.says(discovery, map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token"})
		i.answer("/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if c.coding != "" {
				w.Header().Set("Content-Encoding", c.coding)
			}
			_, _ = io.WriteString(w, c.response)
		})
		if err := signInAt(t, i, "s"); err == nil || !strings.Contains(err.Error(), "the issuer gave no ID token") {
			t.Errorf("%s: %v (%v), want that the response is read and has no ID token", name, err, causeOf(err))
		}
	}
}

func TestATokenEndpointThatBreaksOffIsUnavailable(t *testing.T) {
	i := newIssuer(t)
	i.says(discovery, map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token"})
	i.answer("/token", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if err := signInAt(t, i, "s"); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("Finish = %v, want ErrUnavailable", err)
	}
}

// signInAt begins a sign-in and returns the error of its end, with some code.
func signInAt(t *testing.T, i *issuer, secret string) error {
	t.Helper()
	l, err := reviewer.NewLogin(i.verifier(t, func(o *reviewer.OIDCOptions) {
		o.ClientID, o.SubjectClaim, o.ClientSecret, o.RolesClaim = "console", "sub", secret, "groups"
	}), callback, signedIn)
	if err != nil {
		t.Fatal(err)
	}
	_, attempt, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, _, _ := strings.Cut(attempt, ".")
	_, _, err = l.Finish(t.Context(), attempt, url.Values{"state": {state}, "code": {"c"}})
	return err
}
