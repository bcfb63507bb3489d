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
		if v := strings.TrimRight(getenv(SecretPrefix+name), "\r\n"); v != "" {
			return v, true
		}
		if dir == "" {
			return "", false
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", false
		}
		v := strings.TrimRight(string(raw), "\r\n")
		return v, v != ""
	}, nil
}
