package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	recorded := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0f841b5c0e1a2b3c4d5e6f708192a3b4c5d6e7f8"},
		{Key: "vcs.modified", Value: "true"},
		{Key: "vcs.time", Value: "2026-11-29T10:00:00Z"},
	}}
	for _, tt := range []struct {
		name     string
		info     *debug.BuildInfo
		released string
		want     string
	}{
		{"recorded", recorded, "", "v1.2.3 (commit 0f841b5c0e1a+, 2026-11-29T10:00:00Z, " + runtime.Version() + ")"},
		{"go run", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "devel (commit unknown, unknown, " + runtime.Version() + ")"},
		{"nothing recorded", nil, "", "devel (commit unknown, unknown, " + runtime.Version() + ")"},
		{"a release", recorded, "v2.0.0 89abcdef0123 2026-12-01T08:00:00Z", "v2.0.0 (commit 89abcdef0123, 2026-12-01T08:00:00Z, " + runtime.Version() + ")"},
	} {
		if got := buildOf(tt.info, tt.released).String(); got != tt.want {
			t.Errorf("%s: build = %s, want %s", tt.name, got, tt.want)
		}
	}
}
