// What the texts inside a definition see, and what they become.

package verification

import "time"

// Declarations say what an expression at one node may read: `input`, `run`
// (id, reference_id, started_at) and `steps.<node>` (data, status, passed,
// dispatches).
type Declarations struct {
	// Input is the JSON Schema of the run's input; nil when any is accepted.
	Input Data
	// Steps are all the steps of the definition.
	Steps map[NodeID]StepDeclaration
}

// StepDeclaration is what is known of a step before any run.
type StepDeclaration struct {
	Type NodeType
	// Fields of a customer input; its data has these and no others, besides
	// geo_ok where there is a location and opted_out where it is optional.
	Fields   InputFields
	Optional bool
	// CanHaveRun is false when no path leads through the step to the reader.
	CanHaveRun bool
}

// Scope is what an expression reads from one run.
type Scope struct {
	Input       Data
	RunID       RunID
	ReferenceID string
	StartedAt   time.Time
	Steps       []Step // those reached, in execution order
}

// Condition is a compiled branch condition.
type Condition interface {
	// Holds evaluates it, and tells which values it read, by path, such as
	// "steps.pan.data.name_match". It fails when a value it needs is not
	// there, or when it costs too much.
	Holds(s Scope) (holds bool, seen map[string]any, err error)
}

// Template is a compiled object with ${...} in its strings.
type Template interface {
	// Render fills it in. An expression that fills a whole string keeps the
	// type of its value; inside a longer string it becomes text. It fails when
	// a value it needs is not there, or when it makes too much.
	Render(s Scope) (map[string]any, error)
}

// Pattern is a compiled regular expression.
type Pattern interface {
	MatchString(s string) bool
}

// Schema is a compiled JSON Schema.
type Schema interface {
	// Check returns what is wrong with d, by path below d; none when valid. Its
	// work is bounded: it refuses an object that would take too much.
	Check(d Data) []FieldError
}
