// The version of the program.

package cli

import (
	"runtime"
	"runtime/debug"
)

// Build identifies the build of a program.
type Build struct {
	Version string // of the module, such as v1.2.3; "devel" when Go did not record one
	Commit  string // the first 12 digits, with "+" after them when files were changed; "unknown" when Go did not record it
	Go      string // such as go1.26.8
}

// ReadBuild returns what Go recorded when it built the program. `go run` and a
// build outside a git checkout record no commit.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo() // nil if Go recorded nothing
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Commit: "unknown", Go: runtime.Version()}
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
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	b.Commit += changed
	return b
}

// String returns the build on one line.
func (b Build) String() string { return b.Version + " (commit " + b.Commit + ", " + b.Go + ")" }
