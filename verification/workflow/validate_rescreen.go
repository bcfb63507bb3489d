// Validation of definitions: re-screening.

package workflow

import (
	"encoding/json"
	"slices"
	"strings"
)

// rescreen checks what a node says about re-screening.
func (v *validator) rescreen(at string, n Node) {
	v.check(at+".every", n.Rescreen.Every == RescreenOnChange, "must be %s", RescreenOnChange)
	list := n.Rescreen.List
	if v.length(at+".list", list, 1, maxLabel); list == "" {
		return
	}
	var with struct {
		List string `json:"list"`
	}
	if json.Unmarshal(n.With, &with) == nil && with.List != "" && !strings.Contains(with.List, "${") {
		v.check(at+".list", with.List == list, "must be the list in with, %q", with.List)
	}
	switch d, described := v.described[n.Provider]; {
	case !described:
	case !d.Rescreens:
		v.problem(at, "the provider %q does not screen completed runs again", n.Provider)
	case d.Lists != nil && !slices.Contains(d.Lists, list):
		v.problem(at+".list", "there is no list %q%s", list, v.hint(func() string { return suggestion(list, d.Lists) }))
	}
}
