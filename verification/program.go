// A version made runnable: its expressions compiled.

package verification

// Program is a version of a workflow that Decide can run. Make one with
// Compile. It may be shared between goroutines.
type Program struct {
	Workflow WorkflowID
	Version  Version

	conditions map[NodeID][]Condition
	templates  map[NodeID]Template
	patterns   map[NodeID]map[string]Pattern
	input      Schema
}

// Node finds a node of the definition.
func (p Program) Node(id NodeID) (Node, bool) {
	n, ok := p.Version.Definition.Nodes[id]
	return n, ok
}

// scope is what expressions read from a run.
func (r Run) scope() Scope {
	return Scope{
		Input: r.Started.Input, RunID: r.ID, ReferenceID: r.Started.ReferenceID,
		StartedAt: r.StartedAt, Steps: r.Steps,
	}
}
