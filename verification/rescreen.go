// Automatic re-screening: completed runs are screened again when a list changes.

package verification

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ScreenedList is a list that a run was screened against, and its version; the version is
// empty if it is not known, or not the same in all checks of the run.
type ScreenedList struct {
	List, Version string
}

// RescreenPass is the re-screening of completed runs against one version of a list.
type RescreenPass struct {
	List    string
	Version string
	Number  int // of the pass over this list, 1 for the first
	// Holder is the host that works on the list, until HeldUntil.
	Holder    string
	HeldUntil time.Time
	StartedAt time.Time
	// ScreenedAt is when runs were last recorded as screened; StartedAt before that.
	ScreenedAt time.Time
	EndedAt    time.Time // when no run was left; zero before that
	// Runs counts the runs that were screened, Flagged those with a new hit, and Failed
	// those that could not be screened.
	Runs, Flagged, Failed int
}

// OutdatedQuery selects runs to screen again.
type OutdatedQuery struct {
	List string
	Pass int // the number of the pass
	// After is the tenant that was served last, as in TakeRequest.
	After TenantID
	Limit int // the maximum number of runs
}

// Next returns the pass that follows p, over another version of the list.
func (p RescreenPass) Next(version string, now time.Time) RescreenPass {
	return RescreenPass{
		List: p.List, Version: version, Number: p.Number + 1,
		Holder: p.Holder, HeldUntil: p.HeldUntil, StartedAt: now, ScreenedAt: now,
	}
}

// ListHeld returns the ErrConflict of a RescreenStore for a host that does not hold a list.
func ListHeld() error { return Conflict("list", "another host holds it") }

// ScreenedLists returns the lists whose changes lead to the re-screening of the run.
func (r Run) ScreenedLists() []ScreenedList {
	var lists []ScreenedList
	for _, s := range r.Steps {
		if s.Rescreen == "" {
			continue
		}
		version := s.ListVersion()
		i := slices.IndexFunc(lists, func(l ScreenedList) bool { return l.List == s.Rescreen })
		switch {
		case i < 0:
			lists = append(lists, ScreenedList{s.Rescreen, version})
		case lists[i].Version != version:
			lists[i].Version = ""
		}
	}
	return lists
}

// ListVersion returns the version of the list s.Rescreen that the check was screened
// against, as its data says; empty if its data names another list or no version.
func (s Step) ListVersion() string {
	var data struct {
		List    string `json:"list"`
		Version string `json:"list_version"`
	}
	_ = json.Unmarshal(s.Data, &data) // other data has no version
	if data.List != s.Rescreen {
		return ""
	}
	return data.Version
}

// RequestAgain returns the request of a check that the run has made. Its values are
// computed again from the steps of the run.
func (p Program) RequestAgain(t TenantID, r Run, node NodeID) (CheckRequest, error) {
	step, _ := r.Step(node)
	r.Wait = Wait{Node: node, Dispatch: step.Dispatches}
	return p.Request(t, r)
}

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
