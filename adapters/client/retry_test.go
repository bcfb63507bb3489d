// Tests of repeated requests.

package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestAStartWhoseAnswerIsLostIsOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		w, c := s.Apply(simple()), s.client(t)
		s.fault = func(n int, handle func() *http.Response) (*http.Response, error) {
			switch n {
			case 1:
				return nil, errNetwork // the host got nothing
			case 2:
				handle()
				return nil, errNetwork // the host got the request
			case 3:
				return responds(http.StatusBadGateway, "<html>"), nil
			}
			return nil, nil
		}
		run, err := c.StartRun(t.Context(), w.ID, client.StartRequest{ReferenceID: "person-1"})
		must(t, err)
		if n := s.requests(); n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		page, err := c.ListRuns(t.Context(), client.RunQuery{})
		if err != nil || page.Total != 1 || page.Data[0].ID != run.ID {
			t.Errorf("runs = %v, %v; want %s only", page, err, run.ID)
		}
		again, err := c.StartRun(t.Context(), w.ID, client.StartRequest{ReferenceID: "person-1"})
		if err != nil || again.ID == run.ID {
			t.Errorf("a second start = %s, %v; want another run", again.ID, err)
		}
	})
}

func TestASignalWhoseAnswerIsLostIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		w, c := s.Apply(review()), s.client(t)
		run, err := c.StartRun(t.Context(), w.ID, client.StartRequest{ReferenceID: "person-1"})
		must(t, err)
		s.requests()
		s.fault = func(n int, handle func() *http.Response) (*http.Response, error) {
			if n > 1 {
				return nil, nil
			}
			handle()
			return nil, errNetwork
		}
		got, err := c.GiveVerdict(t.Context(), run.ID, client.Verdict{Decision: rules.DecisionApprove})
		if err != nil || got.Result != "signal_delivered" { // review_recorded if it were delivered twice
			t.Errorf("GiveVerdict = %v, %v; want signal_delivered", got, err)
		}
	})
}

// repetition is a call, the answers to its first requests, and what becomes of it.
type repetition struct {
	name     string
	call     func(context.Context, *client.Client) error
	response func() (*http.Response, error)
	requests int // with a good answer to the second one
	atLeast  time.Duration
}

func TestOnlyWhatIsSafeIsRepeated(t *testing.T) {
	poll := func(ctx context.Context, c *client.Client) error {
		_, err := c.ListRuns(ctx, client.RunQuery{})
		return err
	}
	webhook := func(ctx context.Context, c *client.Client) error {
		_, err := c.SetWebhook(ctx, "w", "https://app.example")
		return err
	}
	start := func(ctx context.Context, c *client.Client) error {
		_, err := c.StartRun(ctx, "w", client.StartRequest{})
		return err
	}
	status := func(status int, headers ...string) func() (*http.Response, error) {
		return func() (*http.Response, error) { return responds(status, "", headers...), nil }
	}
	fails := func(err error) func() (*http.Response, error) {
		return func() (*http.Response, error) { return nil, err }
	}
	inFlight := func() (*http.Response, error) {
		return responds(409, `{"error":"in flight","code":"idempotency_key_in_flight"}`, "Retry-After", "1"), nil
	}
	dial := &net.OpError{Op: "dial", Err: errNetwork}
	date, later := "Wed, 25 Nov 2026 12:00:00 GMT", "Wed, 25 Nov 2026 12:00:07 GMT"
	for _, test := range []repetition{
		{"429", poll, status(429, "Retry-After", "1"), 2, time.Second},
		{"429 of any call", webhook, status(429, "Retry-After", "1"), 2, time.Second},
		{"503", poll, status(503, "Retry-After", "20"), 2, 20 * time.Second},
		{"503 until a date", poll, status(503, "Retry-After", later, "Date", date), 2, 7 * time.Second},
		{"503 until a date gone by", poll, status(503, "Retry-After", date, "Date", later), 2, 0},
		{"503 for too long", poll, status(503, "Retry-After", "31"), 1, 0},
		{"503 of an unsafe call", webhook, status(503, "Retry-After", "1"), 1, 0},
		{"502", poll, status(502), 2, 0},
		{"504", start, status(504), 2, 0},
		{"504 of an unsafe call", webhook, status(504), 1, 0},
		{"a key in flight", start, inFlight, 2, time.Second},
		{"a broken connection", start, fails(errNetwork), 2, 0},
		{"a broken connection of an unsafe call", webhook, fails(errNetwork), 1, 0},
		{"no connection for an unsafe call", webhook, fails(dial), 2, 0},
		{"400", poll, status(400), 1, 0},
		{"401", poll, status(401), 1, 0},
		{"404", poll, status(404), 1, 0},
		{"409", start, status(409, "Retry-After", "1"), 1, 0},
		{"422", start, status(422), 1, 0},
		{"500", poll, status(500, "Retry-After", "1"), 1, 0},
		{"307", poll, status(307, "Location", "http://other.example/"), 1, 0},
		{"304 that nobody asked for", poll, status(304), 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &site{fault: func(n int, _ func() *http.Response) (*http.Response, error) {
					if n > 1 {
						return responds(200, "{}"), nil
					}
					return test.response()
				}}
				began := time.Now()
				err := test.call(t.Context(), s.client(t))
				took := time.Since(began)
				if n := s.requests(); n != test.requests || (err == nil) != (n == 2) {
					t.Errorf("%d requests and %v, want %d", n, err, test.requests)
				}
				if took < test.atLeast || took > test.atLeast+time.Second/2 {
					t.Errorf("it took %s, want %s and at most half a second", took, test.atLeast)
				}
			})
		})
	}
}

func TestASingleAttemptNeedsNoKey(t *testing.T) {
	for attempts, want := range map[int]bool{1: false, 2: true} {
		s := &site{fault: func(int, func() *http.Response) (*http.Response, error) { return responds(202, "{}"), nil }}
		c := s.client(t, func(o *client.Options) { o.Attempts = attempts })
		_, err := c.StartRun(t.Context(), "w", client.StartRequest{})
		must(t, err)
		if key := s.sent[0].Header.Get("Idempotency-Key"); (key != "") != want {
			t.Errorf("the key with %d attempts is %q", attempts, key)
		}
	}
}

func TestAttemptsAndWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{fault: func(int, func() *http.Response) (*http.Response, error) { return nil, errNetwork }}
		_, err := s.client(t).Welcome(t.Context())
		if !errors.Is(err, errNetwork) || len(s.when) != 5 {
			t.Errorf("%d requests and %v, want 5 and the error of the network", len(s.when), err)
		}
		for i, ms := range []int{200, 400, 800, 1600} {
			most := time.Duration(ms) * time.Millisecond
			if wait := s.when[i+1].Sub(s.when[i]); wait < most/2 || wait > most {
				t.Errorf("wait %d = %s, want %s and up to half of it less", i+1, wait, most)
			}
		}
		s.requests()
		for attempts, want := range map[int]int{1: 1, 30: 30} {
			began := time.Now()
			_, err := s.client(t, func(o *client.Options) { o.Attempts = attempts }).Welcome(t.Context())
			if n := s.requests(); n != want || err == nil || time.Since(began) > 30*5*time.Second {
				t.Errorf("%d requests in %s and %v, want %d and an error", n, time.Since(began), err, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := s.client(t).Welcome(ctx); !errors.Is(err, errNetwork) || time.Since(began) != 250*time.Millisecond {
			t.Errorf("after the deadline of 250 ms: %v after %s", err, time.Since(began))
		}
	})
}

func TestAnAttemptHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c, err := client.New(client.Options{BaseURL: "http://api.example", HTTP: &http.Client{Transport: hangs}, Attempts: 2})
		must(t, err)
		began := time.Now()
		_, err = c.Welcome(t.Context())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < 80*time.Second || took > 81*time.Second {
			t.Errorf("Welcome = %v after %s, want two attempts of 40 s", err, took)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAResponseIsBounded(t *testing.T) {
	endless := func(r *http.Request) (*http.Response, error) {
		response := responds(200, "")
		response.Body = struct {
			zeros
			nothing
		}{}
		return response, nil
	}
	s := &site{}
	c := s.client(t, func(o *client.Options) { o.HTTP = &http.Client{Transport: roundTrip(endless)} })
	if _, err := c.ReadOpenAPI(t.Context()); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("ReadOpenAPI of an endless document = %v, want that it is longer than 64 MiB", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type nothing struct{}

func (nothing) Close() error { return nil }

// The connections are of TCP, and are cut off by the host: before it read the request, after it took
// effect, and in the middle of the response.
func TestConnectionsThatAreCutAreReplaced(t *testing.T) {
	s := newSite(t)
	w := s.Apply(simple())
	var n atomic.Int32
	host := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			s.api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case 3:
			rw.Header().Set("Content-Length", "500")
			s.api.ServeHTTP(rw, r)
			panic(http.ErrAbortHandler)
		}
		s.api.ServeHTTP(rw, r)
	}))
	defer host.Close()
	c := s.client(t, func(o *client.Options) { o.BaseURL, o.HTTP = host.URL, host.Client() })
	run, err := c.StartRun(t.Context(), w.ID, client.StartRequest{ReferenceID: "person-1"})
	must(t, err)
	page, err := c.ListRuns(t.Context(), client.RunQuery{})
	if err != nil || page.Total != 1 || page.Data[0].ID != run.ID || n.Load() < 5 {
		t.Errorf("runs = %v, %v after %d requests; want %s only", page, err, n.Load(), run.ID)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var came atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	defer other.Close()
	host := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer host.Close()
	c := (&site{}).client(t, func(o *client.Options) { o.BaseURL, o.HTTP = host.URL, host.Client() })
	_, err := c.ListRuns(t.Context(), client.RunQuery{})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusTemporaryRedirect || came.Load() > 0 {
		t.Errorf("ListRuns = %v, and %d requests followed; want the 307 and none", err, came.Load())
	}
}
