// Finding the programs of PostgreSQL.

package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// errMissing says what to do when nothing is found.
var errMissing = errors.New("no PostgreSQL found: install it (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql), " +
	"or set " + EnvBin + " to the folder that holds its initdb and postgres, " +
	"or set " + EnvURL + " to the URL of a role that may create databases and roles")

// locations are searched for the programs in this order.
type locations struct {
	named   string   // one folder; if set, it must have the programs
	path    string   // as in PATH
	systems []string // patterns of folders; the newest version that matches is used
}

// find returns the folder with initdb and postgres, and installs them if necessary.
func find(ctx context.Context) (string, error) {
	bin, err := locations{
		named: os.Getenv(EnvBin),
		path:  os.Getenv("PATH"),
		systems: []string{
			"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
			"/usr/pgsql-*/bin",                                   // Red Hat with the packages of PostgreSQL itself
			"/usr/libexec/postgresql*",                           // Alpine
			"/opt/homebrew/opt/postgresql*/bin",                  // macOS
			"/usr/local/opt/postgresql*/bin",                     // macOS on Intel
			"/usr/local/pgsql/bin",                               // built from source
			"/Library/PostgreSQL/*/bin",                          // macOS with the installer
			"/Applications/Postgres.app/Contents/Versions/*/bin", // macOS with the application
		},
	}.find()
	if !errors.Is(err, errMissing) {
		return bin, err
	}
	bin, err = install(ctx)
	if err != nil {
		return "", fmt.Errorf("%w; installing it from npm did not work: %w", errMissing, err)
	}
	return bin, nil
}

func (p locations) find() (string, error) {
	if p.named != "" {
		if !complete(p.named) {
			return "", fmt.Errorf("%s is %s, which does not hold initdb and postgres", EnvBin, p.named)
		}
		return p.named, nil
	}
	for _, dir := range filepath.SplitList(p.path) {
		if filepath.IsAbs(dir) && complete(dir) {
			return dir, nil
		}
	}
	for _, pattern := range p.systems {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("look for %s: %w", pattern, err)
		}
		slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		if i := slices.IndexFunc(dirs, complete); i >= 0 {
			return dirs[i], nil
		}
	}
	return "", errMissing
}

// complete reports whether a folder has the programs of a server.
func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// version returns the last number of a path, such as 17 or 9.6, or 0.
func version(path string) float64 {
	numbers := regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(path, -1)
	if len(numbers) == 0 {
		return 0
	}
	v, _ := strconv.ParseFloat(numbers[len(numbers)-1], 64)
	return v
}
