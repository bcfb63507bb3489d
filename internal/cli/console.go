// The URLs of the console.

package cli

import "strings"

// ConsolePath is where hosts serve the console.
const ConsolePath = "/console"

// ConsoleURL returns the URL of the console of a host with a public URL.
func ConsoleURL(public string) string { return strings.TrimSuffix(public, "/") + ConsolePath }

// SignInURL returns the URL of a sign-in link with a token.
func SignInURL(public, token string) string { return ConsoleURL(public) + "/sign-in/link/" + token }
