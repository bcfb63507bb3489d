// Automatic re-screening: completed runs are screened again when a list changes.

package rules

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ScreenedList is a list that a run was screened against, and its version; the version is
// empty if it is not known, or not the same in all checks of the run.
type ScreenedList struct {
	List, Version string
}

// ScreenedLists returns the lists whose changes lead to the re-screening of the run.
func (r Run) ScreenedLists() []ScreenedList {
	var lists []ScreenedList
	for _, s := range r.Steps {
		if s.Rescreen == "" {
			continue
		}
		version := s.ListVersion()
		if s.otherVersion {
			version = ""
		}
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
// against; empty if the version is not known or the check has searched another list.
func (s Step) ListVersion() string {
	if s.Screening == nil || s.Screening.List != s.Rescreen {
		return ""
	}
	return s.Screening.ListVersion
}

// RequestAgain returns the request of a check that the run has made. Its values are
// computed again from the steps of the run.
func (r Run) RequestAgain(p workflow.Program, t verification.TenantID, node verification.NodeID) (verification.CheckRequest, error) {
	step, _ := r.Step(node)
	return r.Request(p, t, Wait{Node: node, Dispatch: step.Dispatches})
}

// Asked returns what a check of a run was asked: its `with`, in the order of the definition,
// with the values of the run as they are now. It is nil if the check has none, or if it cannot
// be rendered.
func (r Run) Asked(p workflow.Program, t verification.TenantID, node verification.NodeID) verification.Data {
	request, err := r.RequestAgain(p, t, node)
	if err != nil {
		return nil // its values were of an earlier visit, or of a verdict
	}
	asked, err := verification.NewData(request.With)
	if err != nil {
		return nil
	}
	n, _ := p.Node(node)
	return jsontext.Ordered(asked, jsontext.Names(n.With))
}
