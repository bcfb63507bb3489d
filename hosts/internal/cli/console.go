// The URLs of the console.

package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ConsolePath is where hosts serve the console.
const ConsolePath = "/console"

// CheckPublicURL returns an error unless s can be the public URL of a host: an absolute
// http(s) URL without query and fragment.
func CheckPublicURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err == nil && u.User != nil: // its password is not repeated
		return errors.New("must not have a user or password: leave out all between // and @")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("%q is not an absolute http(s) URL", s)
	case u.RawQuery != "" || u.ForceQuery:
		return fmt.Errorf("%q must not have a query: leave out \"?%s\"", s, u.RawQuery)
	case u.Fragment != "":
		return fmt.Errorf("%q must not have a fragment: leave out \"#%s\"", s, u.EscapedFragment())
	}
	return nil
}

// ConsoleURL returns the URL of the console of a host with a public URL.
func ConsoleURL(public string) string { return strings.TrimSuffix(public, "/") + ConsolePath }

// SignInURL returns the URL of a sign-in link with a token.
func SignInURL(public, token string) string { return ConsoleURL(public) + "/sign-in/link/" + token }
