// Tests of the request, and of the Attempt that is observed.

package webhook_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
)

func TestANoticeIsOneSignedPost(t *testing.T) {
	r, s := newReceiver(t, nil), newSender(t)
	if err := s.Notify(t.Context(), notice(r.URL)); err != nil {
		t.Fatal(err)
	}
	d := r.one(t)
	d.verified(t, newSecret)
	if d.Method != http.MethodPost || d.RequestURI != "/hooks?key="+hidden {
		t.Errorf("it came as %s %s", d.Method, d.RequestURI)
	}
	signature := d.Header.Get("Webhook-Signature")
	if !strings.HasPrefix(signature, "v1,") || strings.Contains(signature, " ") {
		t.Errorf("webhook-signature = %q, want one of version 1", signature)
	}
	d.Header.Del("Webhook-Signature")
	want := http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(d.body))}, "User-Agent": {"verifyd"},
		"Webhook-Id": {"run_" + string(aRun)}, "Webhook-Timestamp": {strconv.FormatInt(noon.Unix()+1, 10)},
	}
	if diff := cmp.Diff(want, d.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestEverySecretOfATenantSigns(t *testing.T) {
	var read []verification.TenantID
	r := newReceiver(t, nil)
	s := newSender(t, func(o *webhook.Options) {
		o.Secrets = func(_ context.Context, tenant verification.TenantID) ([]string, error) {
			read = append(read, tenant)
			return []string{newSecret, oldSecret}, nil
		}
	})
	if err := s.Notify(t.Context(), notice(r.URL)); err != nil {
		t.Fatal(err)
	}
	d := r.one(t)
	d.verified(t, newSecret)
	d.verified(t, oldSecret)
	if d.accepts(t, webhook.NewSecret()) {
		t.Error("the signature is accepted under a secret that did not sign")
	}
	signatures := strings.Split(d.Header.Get("webhook-signature"), " ")
	if len(signatures) != 2 || len(d.Header.Values("webhook-signature")) != 1 {
		t.Fatalf("webhook-signature = %q, want two in one header", d.Header.Values("webhook-signature"))
	}
	d.Header.Set("webhook-signature", signatures[0])
	if d.verified(t, newSecret); d.accepts(t, oldSecret) {
		t.Error("the first signature is not the newest secret's")
	}
	if !slices.Equal(read, []verification.TenantID{aTenant}) {
		t.Errorf("secrets were read of %q, want once of %s", read, aTenant)
	}
}

func TestNothingIsSentWithoutAValidSecret(t *testing.T) {
	short := "whsec_c2hvcnQ="
	for name, secrets := range map[string]func(context.Context, verification.TenantID) ([]string, error){
		"none": secretsOf(), "empty": secretsOf(""), "short": secretsOf(short), "a bad second": secretsOf(newSecret, short),
		"no answer": func(context.Context, verification.TenantID) ([]string, error) {
			return nil, errors.New("the store is down: " + hidden)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, nil)
			s := newSender(t, func(o *webhook.Options) { o.Secrets = secrets })
			err := s.Notify(t.Context(), notice(r.URL))
			discreet(t, err)
			if err != nil && strings.Contains(err.Error(), short) {
				t.Errorf("the error contains the secret: %q", err)
			}
			s.last(t, webhook.ClassUnsent, 0)
			if came := r.all(); len(came) != 0 {
				t.Errorf("%d notices came", len(came))
			}
		})
	}
}

func TestObserveReceivesEveryField(t *testing.T) {
	r := newReceiver(t, answers(http.StatusTeapot))
	now := noon
	s := newSender(t, func(o *webhook.Options) {
		o.Now = func() time.Time { defer func() { now = now.Add(3 * time.Second) }(); return now }
	})
	n := notice(r.URL)
	n.Attempt = 4
	err := s.Notify(t.Context(), n)
	got := s.last(t, webhook.ClassRefused, http.StatusTeapot)
	if !errors.Is(err, got.Err) {
		t.Errorf("observed %v, returned %v", got.Err, err)
	}
	got.Err = nil
	want := webhook.Attempt{
		Notice: n.ID, Tenant: aTenant, Run: aRun, Number: 4, At: n.At,
		Class: webhook.ClassRefused, Status: http.StatusTeapot, Took: 3 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
}

func TestRetryAfterCountsFromTheAnswer(t *testing.T) {
	r := newReceiver(t, answers(429, "Retry-After: 60"))
	now := noon
	s := newSender(t, func(o *webhook.Options) {
		o.Now = func() time.Time { now = now.Add(5 * time.Second); return now }
	})
	var wish *verification.RetryError
	if err := s.Notify(t.Context(), notice(r.URL)); !errors.As(err, &wish) {
		t.Fatalf("Notify = %v, want a wish", err)
	}
	if want := noon.Add(70 * time.Second); !wish.At.Equal(want) {
		t.Errorf("retry at %s, want %s", wish.At, want)
	}
}

func TestAnAttemptDoesNotCountWhenItsHostStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	})
	s := newSender(t)
	err := s.Notify(ctx, notice(r.URL))
	discreet(t, err)
	var wish *verification.RetryError
	if !errors.Is(err, context.Canceled) || errors.As(err, &wish) {
		t.Errorf("Notify = %v, want that it was cancelled", err)
	}
	if observed := s.attempts(); len(observed) != 0 {
		t.Errorf("observed %+v, want nothing", observed)
	}
}

func TestAttemptsShareAConnectionButNoCookies(t *testing.T) {
	var opened atomic.Int32
	r := unstarted(t, answers(200, "Set-Cookie: who=me"))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	r.Start()
	s := newSender(t)
	for range 3 {
		if err := s.Notify(t.Context(), notice(r.URL)); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections were opened, want one", n)
	}
	for _, d := range r.all() {
		if cookies := d.Cookies(); len(cookies) != 0 {
			t.Errorf("cookies = %v, want none", cookies)
		}
	}
}

// The variables are read once in a process: this test runs in a process of its own that
// has them.
func TestNoProxyIsUsed(t *testing.T) {
	if os.Getenv("NO_PROXY") != "nobody.example" {
		proxy := newReceiver(t, nil)
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyIsUsed$")
		again.Env = append(os.Environ(), "NO_PROXY=nobody.example", "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "ALL_PROXY="+proxy.URL)
		if out, err := again.CombinedOutput(); err != nil || len(proxy.all()) != 0 {
			t.Errorf("the proxy was called %d times, %v:\n%s", len(proxy.all()), err, out)
		}
		return
	}
	r := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// A loopback address would not be requested through a proxy anyway; a name is.
	s := newSender(t, func(o *webhook.Options) { o.Resolver = resolver(names{"hooks.example.": {"127.0.0.1"}}) })
	if err := s.Notify(t.Context(), notice("http://hooks.example:"+port)); err != nil {
		t.Fatal(err)
	}
	if host := r.one(t).Host; host != "hooks.example:"+port {
		t.Errorf("Host = %q", host)
	}
}

func TestNewNamesTheInvalidOption(t *testing.T) {
	good := webhook.Options{Secrets: secretsOf(newSecret), Now: time.Now}
	tests := map[string]func(*webhook.Options){
		"Secrets": func(o *webhook.Options) { o.Secrets = nil },
		"Now":     func(o *webhook.Options) { o.Now = nil },
		"Timeout": func(o *webhook.Options) { o.Timeout = -1 },
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		o := good
		tests[name](&o)
		if _, err := webhook.New(o); err == nil || !strings.Contains(err.Error(), "option "+name+" ") {
			t.Errorf("New = %v, want %s named", err, name)
		}
	}
	if _, err := webhook.New(good); err != nil {
		t.Error(err)
	}
}
