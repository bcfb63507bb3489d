// The version of the program.

package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Build identifies the build of a program.
type Build struct {
	Version string // of the module, such as v1.2.3; "devel" when Go did not record one
	Commit  string // the first 12 digits, with "+" after them when files were changed; "unknown" when Go did not record it
	Date    string // of the commit, as in RFC 3339; "unknown" when Go did not record it
	Go      string // such as go1.26.8
}

// released is "VERSION COMMIT DATE" in a program of a release, see hosts/release.
var released string //nolint:gochecknoglobals // the linker sets it

// ReadBuild returns what Go recorded when it built the program. `go run` and a
// build outside a git checkout record no commit.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo() // nil if Go recorded nothing
	return buildOf(info, released)
}

func buildOf(info *debug.BuildInfo, released string) Build {
	b := Build{Version: "devel", Commit: "unknown", Date: "unknown", Go: runtime.Version()}
	if f := strings.Fields(released); len(f) == 3 {
		b.Version, b.Commit, b.Date = f[0], f[1], f[2]
		return b
	}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			b.Commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.time":
			b.Date = cmp.Or(s.Value, b.Date)
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	b.Commit += changed
	return b
}

// String returns the build on one line.
func (b Build) String() string {
	return b.Version + " (commit " + b.Commit + ", " + b.Date + ", " + b.Go + ")"
}
