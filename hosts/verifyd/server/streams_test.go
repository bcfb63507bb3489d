// Tests of the live updates of the console on a host.

package server_test

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"testing"
	"time"
)

// signIn signs in to the console with the link of the demo.
func (s *served) signIn() *http.Client {
	s.t.Helper()
	return s.signInWith(regexp.MustCompile(`http\S+/console/sign-in/link/\S+`).FindString(s.stderr.String()))
}

// signInWith returns a client that has signed in with a link.
func (s *served) signInWith(link string) *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, link, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Origin", s.api)
	got, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		s.t.Fatalf("signing in with %q = %d", link, got.StatusCode)
	}
	return client
}

func TestAStopEndsTheLiveUpdatesOfTheConsole(t *testing.T) {
	s := serveHost(t, nil)
	client := s.signIn()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+"/console/queue/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	line, err := bufio.NewReader(got.Body).ReadString('\n')
	if err != nil || got.StatusCode != http.StatusOK || line != "retry: 5000\n" {
		t.Fatalf("stream = %d %q, %v", got.StatusCode, line, err)
	}
	if err := s.end(); err != nil { // not the timeout of the shutdown
		t.Errorf("the host stopped with %v", err)
	}
}
