package reviewer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/internal/rig/keytest"
	"github.com/verifyd/verifyd/verification"
)

func TestKeysAreFetchedForTheFirstTokenAndKept(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	i.wantRequests(t, 0, 0)
	for range 20 {
		good(t, o, edToken(t, "k", i.claims()))
	}
	i.wantRequests(t, 1, 1)
}

func TestKeysAreFreshAsLongAsTheIssuerSaysWithinBounds(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    time.Duration
	}{
		"not said":           {nil, time.Hour},
		"two hours":          {[]string{"Cache-Control", "public, max-age=7200, must-revalidate"}, 2 * time.Hour},
		"in other letters":   {[]string{"Cache-Control", "Public,Max-Age=7200"}, 2 * time.Hour},
		"quoted":             {[]string{"Cache-Control", `max-age="7200"`}, 2 * time.Hour},
		"in a second header": {[]string{"Cache-Control", "public", "Cache-Control", "max-age=7200"}, 2 * time.Hour},
		"for a proxy":        {[]string{"Cache-Control", "s-maxage=7200"}, time.Hour},
		"too short":          {[]string{"Cache-Control", "max-age=299"}, 5 * time.Minute},
		"not at all":         {[]string{"Cache-Control", "max-age=0"}, 5 * time.Minute},
		"not to be kept":     {[]string{"Cache-Control", "no-store"}, 5 * time.Minute},
		"not to be trusted":  {[]string{"Cache-Control", "no-cache, max-age=7200"}, 5 * time.Minute},
		"too long":           {[]string{"Cache-Control", "max-age=31536000"}, 24 * time.Hour},
		"below zero":         {[]string{"Cache-Control", "max-age=-1"}, time.Hour},
		"in words":           {[]string{"Cache-Control", "max-age=long"}, time.Hour},
		"beyond all bounds":  {[]string{"Cache-Control", "max-age=99999999999999999999"}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.says("/keys", map[string]any{"keys": []any{publicOf(t, keytest.Private()["Ed25519"], "kid", "k")}}, c.headers...)
			o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.JWKSURL = i.URL + "/keys" })
			good(t, o, edToken(t, "k", i.claims()))
			i.clock.advance(c.want - time.Second)
			good(t, o, edToken(t, "k", i.claims()))
			i.wantRequests(t, 0, 1)
			i.clock.advance(time.Second)
			good(t, o, edToken(t, "k", i.claims()))
			good(t, o, edToken(t, "k", i.claims()))
			i.wantRequests(t, 0, 1)
		})
	}
}

// Once the keys are no longer fresh, no token under a removed key is accepted.
func TestKeysRotateAtTheIssuer(t *testing.T) {
	p256 := keytest.Private()["P-256"]
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "old"))
	o := i.verifier(t)
	old := func() string { return edToken(t, "old", i.claims()) }
	fresh := func() string {
		return forge(t, map[string]any{"alg": "ES256", "kid": "new"}, i.claims(), signer(t, jwa.ES256(), p256))
	}
	good(t, o, old())
	i.wantRequests(t, 1, 1)

	i.publish(publicOf(t, keytest.Private()["Ed25519"], "kid", "old"), publicOf(t, p256, "kid", "new"))
	i.clock.advance(time.Minute)
	good(t, o, fresh())
	good(t, o, old())
	i.wantRequests(t, 0, 1)

	i.publish(publicOf(t, p256, "kid", "new"))
	i.clock.advance(time.Hour)
	bad(t, o, old(), verification.ErrUnauthenticated)
	good(t, o, fresh())
	i.wantRequests(t, 0, 1)
}

func TestATokenWithoutAKidNeedsASetOfOneKey(t *testing.T) {
	ed := keytest.Private()["Ed25519"]
	raw := func(i *issuer) string {
		return forge(t, map[string]any{"alg": "EdDSA"}, i.claims(), signer(t, jwa.EdDSA(), ed))
	}
	rsaKey := keytest.Private()["RSA"]
	for name, c := range map[string]struct {
		keys []map[string]any
		want bool
	}{
		"one key with a kid":                {[]map[string]any{publicOf(t, ed, "kid", "k")}, true},
		"one key without one":               {[]map[string]any{publicOf(t, ed)}, true},
		"one that signs, one that encrypts": {[]map[string]any{publicOf(t, rsaKey, "use", "enc"), publicOf(t, ed, "use", "sig")}, true},
		"one key that is listed twice":      {[]map[string]any{publicOf(t, ed, "kid", "k"), publicOf(t, ed, "kid", "k")}, true},
		"two keys":                          {[]map[string]any{publicOf(t, ed, "kid", "k"), publicOf(t, rsaKey, "kid", "l")}, false},
		"two keys without kids":             {[]map[string]any{publicOf(t, ed), publicOf(t, rsaKey)}, false},
		"no key":                            {nil, false},
		"one key, and another one signed":   {[]map[string]any{publicOf(t, another(t))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t, c.keys...)
			o := i.verifier(t)
			for range 2 {
				if c.want {
					good(t, o, raw(i))
				} else {
					bad(t, o, raw(i), verification.ErrUnauthenticated)
				}
				i.clock.advance(2 * time.Minute)
			}
			i.wantRequests(t, 1, 1)
		})
	}
}

func TestTwentyUnknownKidsMakeOneRequest(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	unknown := func() {
		for n := range 20 {
			bad(t, o, edToken(t, fmt.Sprint("unknown-", n), i.claims()), verification.ErrUnauthenticated)
		}
	}
	unknown()
	i.wantRequests(t, 1, 1)
	i.clock.advance(time.Minute - time.Second)
	unknown()
	i.wantRequests(t, 0, 0)
	i.clock.advance(time.Second)
	unknown()
	good(t, o, edToken(t, "k", i.claims()))
	i.wantRequests(t, 0, 1)
}

func TestAFetchThatFailedCountsToo(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	i.breaks(discovery, http.StatusInternalServerError)
	for range 20 {
		err := fails(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
		if want := "bearer token: the keys of its issuer cannot be fetched now"; fmt.Sprint(err) != want {
			t.Errorf("error %q, want %q", err, want)
		}
		if cause := fmt.Sprint(causeOf(err)); !strings.Contains(cause, "status 500") {
			t.Errorf("the cause is %q, want the status in it", cause)
		}
	}
	i.wantRequests(t, 1, 0)
	i.says(discovery, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	bad(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
	i.clock.advance(time.Minute)
	good(t, o, edToken(t, "k", i.claims()))
	i.wantRequests(t, 1, 1)
}

func TestKnownKeysWorkForADayWithoutTheIssuer(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	ended := make(chan error, 100)
	o := i.verifier(t, func(o *reviewer.OIDCOptions) { o.Observe = func(_ int, err error) { ended <- err } })
	good(t, o, edToken(t, "k", i.claims()))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	i.wantRequests(t, 1, 1)

	i.breaks("/keys", http.StatusBadGateway)
	i.clock.advance(time.Hour)
	good(t, o, edToken(t, "k", i.claims()))
	if err := <-ended; err == nil {
		t.Error("Observe reports a successful fetch while the issuer is down")
	}
	good(t, o, edToken(t, "k", i.claims()))
	i.wantRequests(t, 0, 1)
	// The issuer may have this key by now.
	bad(t, o, edToken(t, "other", i.claims()), verification.ErrUnavailable)
	i.wantRequests(t, 0, 0)

	i.clock.advance(24*time.Hour - time.Second)
	good(t, o, edToken(t, "k", i.claims()))
	if err := <-ended; err == nil {
		t.Error("Observe reports a successful fetch while the issuer is down")
	}
	i.clock.advance(time.Second)
	bad(t, o, edToken(t, "k", i.claims()), verification.ErrUnavailable)
	i.wantRequests(t, 1, 1) // after the first failure, the discovery document is fetched again

	i.publish(publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	i.clock.advance(time.Minute)
	good(t, o, edToken(t, "k", i.claims()))
	bad(t, o, edToken(t, "other", i.claims()), verification.ErrUnauthenticated)
}

func TestAnEmptySetRevokesEveryKey(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))
	o := i.verifier(t)
	good(t, o, edToken(t, "k", i.claims()))
	i.publish()
	i.clock.advance(time.Hour)
	bad(t, o, edToken(t, "k", i.claims()), verification.ErrUnauthenticated)
}

// gate answers requests once it is opened, or their context has ended.
type gate struct {
	body     string
	opened   chan struct{}
	requests chan struct{} // gets a value for each request
}

func newGate(t testing.TB) *gate {
	t.Helper()
	return &gate{
		body:   string(keytest.Set(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "k"))),
		opened: make(chan struct{}), requests: make(chan struct{}, 1000),
	}
}

func (g *gate) client() *http.Client {
	return &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
		g.requests <- struct{}{}
		select {
		case <-g.opened:
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(g.body)), Header: http.Header{}, Request: r}, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})}
}

func TestConcurrentCallersShareOneFetch(t *testing.T) {
	g := newGate(t)
	o := far(t, g.client())
	raw, unknown := edToken(t, "k", claimsOf(farIssuer, noon)), edToken(t, "other", claimsOf(farIssuer, noon))
	var callers sync.WaitGroup
	for n := range 50 {
		callers.Go(func() {
			if n%5 == 0 {
				bad(t, o, unknown, verification.ErrUnauthenticated)
			} else {
				good(t, o, raw)
			}
		})
	}
	<-g.requests
	close(g.opened)
	callers.Wait()
	if n := len(g.requests); n != 0 {
		t.Errorf("%d more requests came, want none", n)
	}
}

func TestACancelledCallerDoesNotCancelTheFetch(t *testing.T) {
	g := newGate(t)
	o := far(t, g.client())
	raw := edToken(t, "k", claimsOf(farIssuer, noon))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := o.Verify(ctx, raw)
		left <- err
	}()
	<-g.requests
	leave()
	if err := <-left; !errors.Is(err, verification.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that leaves gets %v, want ErrUnavailable and that it was cancelled", err)
	}
	close(g.opened)
	good(t, o, raw)
	if n := len(g.requests); n != 0 {
		t.Errorf("%d more requests came, want none", n)
	}
}

func TestAFetchEndsAfterFiveSeconds(t *testing.T) {
	key := publicOf(t, keytest.Private()["Ed25519"], "kid", "k")
	raw := edToken(t, "k", claimsOf(farIssuer, noon.AddDate(-10, 0, 0), "exp", 253402300799))
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		keys := keytest.Set(t, key)
		o := far(t, &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			if hangs.Load() {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(keys))), Header: http.Header{}, Request: r}, nil
		})}, func(o *reviewer.OIDCOptions) { o.Now = time.Now })
		took := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			good(t, o, raw)
			if took := time.Since(began); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
		}
		took(0)
		hangs.Store(true)
		wait(time.Hour)
		took(5 * time.Second)
		// From then on no caller waits for an issuer that hangs.
		for range 3 {
			wait(time.Minute)
			took(0)
		}
		wait(5 * time.Second)
		hangs.Store(false)
		wait(time.Minute)
		took(0)
		synctest.Wait()
		// It has answered meanwhile, so its keys were fresh for an hour.
		hangs.Store(true)
		wait(time.Hour)
		took(5 * time.Second)
	})
}

// wait lets the clock of a bubble run.
func wait(d time.Duration) { <-time.After(d) }

func TestAHangingDiscoveryEndsAfterFiveSeconds(t *testing.T) {
	raw := edToken(t, "k", claimsOf(farIssuer, noon, "exp", 253402300799))
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		o := far(t, g.client(), func(o *reviewer.OIDCOptions) { o.Now, o.JWKSURL = time.Now, "" })
		began := time.Now()
		err := fails(t, o, raw, verification.ErrUnavailable)
		if took := time.Since(began); took != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v, want 5s and the deadline", took, causeOf(err))
		}
	})
}

func TestCloseEndsTheFetchAndKeepsTheKeys(t *testing.T) {
	g := newGate(t)
	o := far(t, g.client())
	raw := edToken(t, "k", claimsOf(farIssuer, noon))
	ended := make(chan error)
	go func() {
		_, err := o.Verify(t.Context(), raw)
		ended <- err
	}()
	<-g.requests
	o.Close()
	if err := <-ended; !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("a waiting caller gets %v, want ErrUnavailable", err)
	}
	close(g.opened)
	bad(t, o, raw, verification.ErrUnavailable)
	if n := len(g.requests); n != 0 {
		t.Errorf("%d requests came after Close, want none", n)
	}

	clock := newManualClock()
	o = far(t, printed(g.body), func(o *reviewer.OIDCOptions) { o.Now = clock.now })
	good(t, o, raw)
	o.Close()
	o.Close()
	clock.advance(time.Hour - time.Second)
	good(t, o, raw)
	bad(t, o, edToken(t, "other", claimsOf(farIssuer, noon)), verification.ErrUnauthenticated)
}

func TestTheFirstCallAfterCloseFetchesNothing(t *testing.T) {
	g := newGate(t)
	o := far(t, g.client())
	o.Close()
	bad(t, o, edToken(t, "k", claimsOf(farIssuer, noon)), verification.ErrUnavailable)
	if n := len(g.requests); n != 0 {
		t.Errorf("%d requests came, want none", n)
	}
}

// For the race detector: many kinds of tokens, while keys rotate and time passes.
func TestConcurrentUse(t *testing.T) {
	i := newIssuer(t, publicOf(t, keytest.Private()["Ed25519"], "kid", "0"))
	o := i.verifier(t)
	raw, unknown := edToken(t, "0", i.claims("exp", 253402300799)), edToken(t, "other", i.claims("exp", 253402300799))
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			for range 50 {
				switch n {
				case 0:
					i.clock.advance(2 * time.Minute)
				case 1:
					i.publish(publicOf(t, keytest.Private()["Ed25519"], "kid", "0"), publicOf(t, keytest.Private()["P-256"], "kid", "1"))
				case 2, 3:
					bad(t, o, unknown, verification.ErrUnauthenticated)
				default:
					good(t, o, raw)
				}
			}
		})
	}
	callers.Wait()
}
