// Tests of the responses of receivers.

package webhook_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/webhook"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// answers with a status and headers, given as "name: value".
func answers(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
	}
}

func TestAnAnswerDeterminesClassAndRetry(t *testing.T) {
	type after struct{ at time.Time } // zero is never
	in := func(d time.Duration) *after { return &after{noon.Add(d)} }
	never := &after{}
	var planned *after
	tests := []struct {
		name    string
		handler http.HandlerFunc
		class   string
		status  int
		retry   *after
	}{
		{"200", answers(200), webhook.ClassDelivered, 200, nil},
		{"202", answers(202), webhook.ClassDelivered, 202, nil},
		{"204", answers(204), webhook.ClassDelivered, 204, nil},
		{"200 with Retry-After", answers(200, "Retry-After: 60"), webhook.ClassDelivered, 200, nil},
		{"304", answers(304), webhook.ClassRedirected, 304, planned},
		{"301 to nowhere", answers(301, "Location: ::"), webhook.ClassRedirected, 301, planned},
		{"307 without a location", answers(307), webhook.ClassRedirected, 307, planned},
		{"400", answers(400), webhook.ClassRefused, 400, planned},
		{"401", answers(401), webhook.ClassRefused, 401, planned},
		{"404", answers(404), webhook.ClassRefused, 404, planned},
		{"410", answers(410), webhook.ClassGone, 410, never},
		{"410 with Retry-After", answers(410, "Retry-After: 60"), webhook.ClassGone, 410, never},
		{"429", answers(429), webhook.ClassRefused, 429, planned},
		{"429 in seconds", answers(429, "Retry-After: 120"), webhook.ClassRefused, 429, in(2 * time.Minute)},
		{"429 in no time", answers(429, "Retry-After: 0"), webhook.ClassRefused, 429, planned},
		{"429 in words", answers(429, "Retry-After: tomorrow"), webhook.ClassRefused, 429, planned},
		{"499", answers(499), webhook.ClassRefused, 499, planned},
		{"500", answers(500), webhook.ClassServerError, 500, planned},
		{"503 with a date", answers(503, "Retry-After: Fri, 20 Nov 2026 13:30:00 GMT"), webhook.ClassServerError, 503, in(90 * time.Minute)},
		{"503 with a date gone by", answers(503, "Retry-After: Fri, 20 Nov 2026 11:59:59 GMT"), webhook.ClassServerError, 503, planned},
		{"503 for ages", answers(503, "Retry-After: 99999999"), webhook.ClassServerError, 503, in(24 * time.Hour)},
		{"101", raw(t, func(c io.Writer) {
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")
		}), webhook.ClassServerError, 101, planned},
		{"999", raw(t, func(c io.Writer) { fmt.Fprint(c, "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n") }), webhook.ClassServerError, 999, planned},
		{"no word", raw(t, func(io.Writer) {}), webhook.ClassUnreachable, 0, planned},
		{"reset", raw(t, reset), webhook.ClassUnreachable, 0, planned},
		{"no HTTP", raw(t, func(c io.Writer) { fmt.Fprintf(c, "220 mail.example %s\r\n", hidden) }), webhook.ClassUnreachable, 0, planned},
		{"half a body", raw(t, func(c io.Writer) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") }), webhook.ClassUnreachable, 0, planned},
		{"giant headers", answers(200, "X-Giant: "+strings.Repeat("g", 1<<20)), webhook.ClassUnreachable, 0, planned},
		{"endless hints", raw(t, endless("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")), webhook.ClassUnreachable, 0, planned},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, s := newReceiver(t, test.handler), newSender(t)
			err := s.Notify(t.Context(), notice(r.URL))
			attempt := s.last(t, test.class, test.status)
			r.one(t)
			if test.class == webhook.ClassDelivered {
				if err != nil || attempt.Err != nil {
					t.Errorf("Notify = %v, observed %v, want no error", err, attempt.Err)
				}
				return
			}
			discreet(t, err)
			discreet(t, attempt.Err)
			if got := rules.ClassOf(err); got != test.class {
				t.Errorf("ClassOf(err) = %q, want %q", got, test.class)
			}
			if !strings.Contains(err.Error(), r.URL+": ") {
				t.Errorf("Notify = %q, want the origin %s in it", err, r.URL)
			}
			var retry *verification.RetryError
			switch named := errors.As(err, &retry); {
			case named != (test.retry != nil):
				t.Errorf("Notify = %#v, want a retry: %t", err, test.retry != nil)
			case named && !retry.At.Equal(test.retry.at):
				t.Errorf("retry at %s, want %s", retry.At, test.retry.at)
			}
		})
	}
}

func reset(c io.Writer) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the close that follows sends a reset
	}
}

// endless writes a text repeatedly until the connection is closed.
func endless(text string) func(io.Writer) {
	return func(c io.Writer) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := newReceiver(t, nil)
		r, s := newReceiver(t, answers(status, "Location: "+other.URL+"/hooks")), newSender(t)
		if err := s.Notify(t.Context(), notice(r.URL)); err == nil {
			t.Errorf("Notify of a %d = nil, want an error", status)
		}
		s.last(t, webhook.ClassRedirected, status)
		if came := other.all(); len(came) != 0 {
			t.Errorf("a %d was followed", status)
		}
	}
}

func TestAnAttemptEndsAtItsTimeout(t *testing.T) {
	trickle := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		drip := time.NewTicker(5 * time.Millisecond)
		defer drip.Stop()
		for {
			select {
			case <-drip.C:
				fmt.Fprint(w, ".")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"slow header":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"slow endless body": trickle,
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newReceiver(t, handler), newSender(t, soon)
			began := time.Now()
			err := s.Notify(t.Context(), notice(r.URL))
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the attempt took %s, want about 150 ms", took)
			}
			discreet(t, err)
			s.last(t, webhook.ClassTimeout, 0)
			var retry *verification.RetryError
			if errors.As(err, &retry) {
				t.Errorf("Notify = %#v, want a retry as planned", err)
			}
		})
	}
}

func TestOnlyTheBeginningOfAnAnswerIsRead(t *testing.T) {
	closed := make(chan int)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		sent, chunk := 0, make([]byte, 32<<10)
		for {
			n, err := w.Write(chunk)
			if sent += n; err != nil {
				closed <- sent
				return
			}
		}
	})
	s := newSender(t)
	if err := s.Notify(t.Context(), notice(r.URL)); err != nil {
		t.Errorf("Notify = %v, want nil: it was answered 200", err)
	}
	s.last(t, webhook.ClassDelivered, 200)
	// Bytes that were sent and not read are in the buffers of two sockets.
	if sent := <-closed; sent > 64<<20 {
		t.Errorf("the receiver could send %d bytes", sent)
	}
}

func TestTheBodyOfAnErrorIsNotRead(t *testing.T) {
	closed := make(chan struct{})
	r := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(closed)
		w.WriteHeader(http.StatusGone)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	s := newSender(t)
	if err := s.Notify(t.Context(), notice(r.URL)); err == nil {
		t.Error("Notify = nil, want an error")
	}
	s.last(t, webhook.ClassGone, 410)
	<-closed
}
