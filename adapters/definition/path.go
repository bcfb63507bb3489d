// The path to a value, such as nodes.risk.rules[0].when.

package definition

import (
	"strconv"
	"strings"
)

// path is a chain from a value up to the root, which is nil. It is made into
// text only for a fault.
type path struct {
	up    *path
	name  string // of a field
	index int    // of an item; -1 for a field
}

func (p *path) field(name string) *path { return &path{up: p, name: name, index: -1} }

func (p *path) item(i int) *path { return &path{up: p, index: i} }

func (p *path) String() string {
	if p == nil {
		return ""
	}
	above := p.up.String()
	switch {
	case p.index >= 0:
		return above + "[" + strconv.Itoa(p.index) + "]"
	case above == "":
		return shown(p.name)
	default:
		return above + "." + shown(p.name)
	}
}

// shown is a name as a fault may say it: short, and quoted when it is not plain.
func shown(name string) string {
	const most = 64
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if runes := []rune(name[:min(len(name), 4*most+4)]); len(runes) > most {
		name = string(runes[:most]) + "..."
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}
