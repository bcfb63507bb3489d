// The providers sections of a bootstrap file.

package definitions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// Provider is one provider of a bootstrap file.
type Provider struct {
	Name string
	// Type says which adapter reads the declaration: "rest".
	Type string
	// Declaration is the entry of the file. Its form is valid; its adapter checks the
	// rest.
	Declaration verification.Data

	location
}

// maxProviderName is the maximum length of a provider's name.
const maxProviderName = 64

// providers reads a section in the order of the file.
func (b *bootstrapReader) providers(p path, section map[string]json.RawMessage) []Provider {
	var found []Provider
	for _, name := range slices.Sorted(maps.Keys(section)) {
		at := append(slices.Clip(p), name)
		if !IsProviderName(name) {
			b.problem(at, "the name of a provider is 1 to 64 letters, digits, - and _, and begins with a letter")
			continue
		}
		if b.reportedUnder(at) {
			continue
		}
		one := Provider{Name: name, location: location{b.file, b.root, at.String()}}
		var kind struct {
			Type string `json:"type"`
		}
		var err error
		if one.Declaration, err = verification.ParseData(section[name]); err != nil {
			b.problem(at, sentence(err))
			continue
		}
		if json.Unmarshal(one.Declaration, &kind) == nil {
			one.Type = kind.Type
		}
		found = append(found, one)
	}
	_, written := b.root.find(p.String())
	order := map[string]int{}
	for i, e := range written.entries {
		order[e.name] = i
	}
	slices.SortFunc(found, func(a, b Provider) int { return order[a.Name] - order[b.Name] })
	return found
}

// IsProviderName reports whether s can be the name of a provider: 1 to 64 letters,
// digits, '-' and '_' that begin with a letter.
func IsProviderName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && len(s) <= maxProviderName && strings.ContainsRune(letters, rune(s[0])) &&
		strings.Trim(s, letters+"0123456789-_") == ""
}
