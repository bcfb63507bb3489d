// The built-in demo: its files, and the vendor that it serves on an address of its own.

package server

import (
	_ "embed"
	"fmt"
	"io"
	"net/http"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
)

type demo struct {
	vendorAddr  string
	token, hook string                 // the secrets of the vendor
	link        func() (string, error) // makes a link that signs in to the console
}

func (s Settings) isDemo() bool { return s.Bootstrap == "" && s.DatabaseURL == "" }

func (d *demo) read(name string) ([]byte, error) { return demovendor.Read(name, d.vendorAddr) }

func (d *demo) secret(name string) (string, bool) {
	switch name {
	case demovendor.TokenSecret:
		return d.token, true
	case demovendor.HookSecret:
		return d.hook, true
	}
	return "", false
}

// write writes the credentials of the demo, where its data is, commands to try, and a link to the
// console.
func (d *demo) write(w io.Writer, api, where string) error {
	link, err := d.link()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, demoText, api, link, where)
	return nil
}

// withLinks serves the console, and writes a new link to it whenever somebody opens the page
// to sign in: a link works once.
func (d *demo) withLinks(console http.Handler, w io.Writer) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == cli.ConsolePath+"/sign-in" {
			if link, err := d.link(); err == nil {
				fmt.Fprintf(w, "A new link to the console:\n\n  %s\n\n", link)
			}
		}
		console.ServeHTTP(rw, r)
	})
}

// demoText is a format of the address of the API, a link to the console, and where the data is.
//
//go:embed demo.txt
var demoText string
