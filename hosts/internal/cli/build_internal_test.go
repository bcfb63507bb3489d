package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	recorded := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0f841b5c0e1a2b3c4d5e6f708192a3b4c5d6e7f8"}, {Key: "vcs.modified", Value: "true"},
	}}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"recorded", recorded, "v1.2.3 (commit 0f841b5c0e1a+, " + runtime.Version() + ")"},
		{"go run", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel (commit unknown, " + runtime.Version() + ")"},
		{"nothing recorded", nil, "devel (commit unknown, " + runtime.Version() + ")"},
	} {
		if got := buildOf(tt.info).String(); got != tt.want {
			t.Errorf("%s: build = %s, want %s", tt.name, got, tt.want)
		}
	}
}
