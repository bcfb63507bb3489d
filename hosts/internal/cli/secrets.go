// Secrets of providers: from the environment, or from a folder.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// SecretPrefix begins the names of the variables that have secrets.
const SecretPrefix = "VERIFYD_SECRET_"

// Secrets returns a function that looks up a secret: the variable VERIFYD_SECRET_NAME,
// or else the file NAME in dir, each without its final line break. dir may be empty. It
// fails if dir is not a folder.
func Secrets(getenv func(string) string, dir string) (func(name string) (string, bool), error) {
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is not a folder", dir)
		}
	}
	return func(name string) (string, bool) {
		if v := trimLine(getenv(SecretPrefix + name)); v != "" {
			return v, true
		}
		if dir == "" {
			return "", false
		}
		v, err := ReadValue(filepath.Join(dir, name))
		return v, err == nil && v != ""
	}, nil
}

// ReadValue returns the content of a file that has one value, such as a secret, without its
// final line break.
func ReadValue(file string) (string, error) {
	raw, err := os.ReadFile(file)
	return trimLine(string(raw)), err
}

func trimLine(text string) string { return strings.TrimRight(text, "\r\n") }
