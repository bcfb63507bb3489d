// The built-in demo: its files, and the vendor that it serves on an address of its own.

package server

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	demofiles "github.com/verifyd/verifyd/hosts/verifyd/demo"
	"github.com/verifyd/verifyd/verification"
)

// demo is the built-in demo.
type demo struct {
	vendorAddr  string
	token, hook string                 // the secrets of the vendor
	link        func() (string, error) // makes a link that signs in to the console
}

// isDemo reports whether the host serves the demo.
func (s settings) isDemo() bool { return s.Bootstrap == "" && s.DatabaseURL == "" }

// newDemo returns the demo with new secrets of its vendor.
func newDemo(vendorAddr string) *demo {
	return &demo{vendorAddr: vendorAddr, token: rand.Text(), hook: rand.Text()}
}

// vendor returns the vendor, which sends its callbacks by a clock.
func (d *demo) vendor(clk verification.Clock, log *slog.Logger) http.Handler {
	return &demofiles.Vendor{Token: d.token, Hook: d.hook, Clock: clk, Log: log}
}

// read returns a file of the demo.
func (d *demo) read(name string) ([]byte, error) { return demofiles.Read(name, d.vendorAddr) }

// secret returns a secret of the vendor.
func (d *demo) secret(name string) (string, bool) {
	switch name {
	case demofiles.TokenSecret:
		return d.token, true
	case demofiles.HookSecret:
		return d.hook, true
	}
	return "", false
}

// demoListDate is the date of the list of the demo.
func demoListDate() time.Time { return time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC) }

// write writes the credentials of the demo, commands to try, and a link to the console.
func (d *demo) write(w io.Writer, api string) error {
	link, err := d.link()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, demoText, api, link)
	return nil
}

const demoText = `
This is the built-in demo, in memory: client-id demo, x-api-key demo-key-for-local-use-only.
First, paste these two lines:

  A=%[1]s/v1; W=$A/workflows/0191f3c0-0000-7000-8000-000000000002
  api() { curl -s -H 'client-id: demo' -H 'x-api-key: demo-key-for-local-use-only' -H 'content-type: application/json' "$@"; }

A customer who passes. Open the url in a browser, or send the answers as your own app would:

  RUN=$(api $W/runs -d '{"reference_id":"person-1"}' | tee /dev/stderr | cut -d'"' -f4)
  api $A/signals/$RUN/consent_submitted -d '{"payload":{"consent_status":"success"}}'
  api $A/signals/$RUN/details_submitted -d '{"payload":{"name":"Asha Rao","dob":"1990-02-01","pan":"ABCPR1234F"}}'

A second later the registry has called back, and the run is completed. Read it, and print its report:

  api $A/runs/$RUN
  api $A/runs/$RUN/report.pdf -o report.pdf -w '%%{http_code} %%{content_type}\n'

A customer whose name is on the list of the demo, so that a reviewer decides:

  RUN=$(api $W/runs -d '{"reference_id":"person-2"}' | cut -d'"' -f4)
  api $A/signals/$RUN/consent_submitted -d '{"payload":{"consent_status":"success"}}'
  api $A/signals/$RUN/details_submitted -d '{"payload":{"name":"Victor Zamoyskov","dob":"1961-03-14","pan":"ABCPZ4321Z"}}'
  api "$A/runs?decision=review"
  api $A/runs/$RUN
  api $A/signals/$RUN/human_review_decision -d '{"payload":{"decision":"reject","notes":"The name and the date of birth are those of the entry."}}'
  api "$A/runs/$RUN?view=report"

The reviewer's console; the link works once, within ten minutes:

  %[2]s

The README of verifyd explains the commands. The API is described at %[1]s/openapi.yaml.

`
