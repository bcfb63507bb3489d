package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

func TestEachDifferenceBetweenHostsHasOneEntry(t *testing.T) {
	same := cli.HostFacts{
		Providers: map[string]string{"registry": "1", "sandbox": ""}, Lists: map[string]string{"sanctions": "v1"},
		Keys: []string{"k1"}, SearchKey: "s1", PublicURL: "https://id.example", Documents: "folder-1", Build: "v1", ClockAhead: time.Second,
	}
	one := cli.ComparedHost{Label: "one (10.0.0.1:8080)", Worker: true, HostFacts: same}
	for name, tc := range map[string]struct {
		change func(*cli.ComparedHost)
		want   string
	}{
		"nothing":    {func(*cli.ComparedHost) {}, ""},
		"a provider": {func(h *cli.ComparedHost) { h.Providers = map[string]string{"sandbox": ""} }, "the provider registry is missing on two; one (10.0.0.1:8080), three has it"},
		"a declaration": {
			func(h *cli.ComparedHost) { h.Providers = map[string]string{"registry": "2", "sandbox": ""} },
			"the provider registry is declared differently: one (10.0.0.1:8080), three against two",
		},
		"providers of a host that executes no runs": {func(h *cli.ComparedHost) { h.Worker, h.Providers, h.Lists = false, nil, nil }, ""},
		"a list":         {func(h *cli.ComparedHost) { h.Lists = map[string]string{} }, "the list sanctions is missing on two; one (10.0.0.1:8080), three has it"},
		"a list version": {func(h *cli.ComparedHost) { h.Lists = map[string]string{"sanctions": "v2"} }, "the list sanctions has different versions: one (10.0.0.1:8080), three against two"},
		"keys":           {func(h *cli.ComparedHost) { h.Keys = []string{"k2", "k1"} }, "the signing keys differ: one (10.0.0.1:8080), three against two"},
		"search keys":    {func(h *cli.ComparedHost) { h.SearchKey = "" }, "the search keys differ: one (10.0.0.1:8080), three against two"},
		"public URLs":    {func(h *cli.ComparedHost) { h.PublicURL = "http://localhost" }, "--public-url differs: one (10.0.0.1:8080), three against two"},
		"uploads":        {func(h *cli.ComparedHost) { h.Documents = "folder-2" }, "the hosts store uploads in different places: one (10.0.0.1:8080), three against two"},
		"scripts":        {func(h *cli.ComparedHost) { h.Scripts = []string{"Latin"} }, "reports are printed in different scripts: one (10.0.0.1:8080), three against two"},
		"builds":         {func(h *cli.ComparedHost) { h.Build = "v2" }, "the builds differ: one (10.0.0.1:8080), three against two"},
	} {
		two := cli.ComparedHost{Label: "two", Worker: true, HostFacts: same}
		tc.change(&two)
		var got []string
		for _, d := range cli.Differences([]cli.ComparedHost{one, two, {Label: "three", Worker: true, HostFacts: same}}) {
			if d.Advice == "" {
				t.Errorf("%s: %q says not what to do", name, d.Message)
			}
			got = append(got, d.Message)
		}
		if strings.Join(got, "\n") != tc.want {
			t.Errorf("%s differs: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestFactsSurviveTheirText(t *testing.T) {
	want := cli.HostFacts{Keys: []string{"k"}, Lists: map[string]string{"l": "v"}, ClockAhead: -3 * time.Second}
	got, err := cli.ParseHostFacts(want.String())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("facts differ (-want +got), %v:\n%s", err, diff)
	}
}
