// The texts inside a definition: what they may read, and what they compile to.

package workflow

import (
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Declarations say what an expression at one node may read: `input`, `run`
// (id, reference_id, started_at) and `steps.<node>` (data, status, passed, clear,
// dispatches).
type Declarations struct {
	// Input is the JSON Schema of the run's input; nil if any input is accepted.
	Input verification.Data
	// Steps holds every step of the definition.
	Steps map[verification.NodeID]StepDeclaration
	// Each says that the text belongs to a node with for_each: it may read `item`, the element, and
	// `position`, its number from 1. Item is the JSON Schema of the elements; nil if they may be anything.
	Each bool
	Item verification.Data
	// Member is what is known about the member of a group whose answer a text may read as `member`: data, status,
	// passed, clear and dispatches. It is nil for any text but the `until` of a group.
	Member *StepDeclaration
	// With is the JSON Schema of the object that a template makes; nil if any object is
	// accepted. A condition ignores it.
	With verification.Data
	// Inspect says to look for what cannot be meant: the result is then Inspected.
	Inspect bool
}

// Inspected is a Condition or a Template in which the compiler looked for what cannot be
// meant, such as a comparison with a value that the operand never has.
type Inspected interface {
	// Findings returns what was found. before has the conditions of the earlier rules of
	// the same branch.
	Findings(before []Condition) []Finding
}

// Finding is something in a condition or a template that cannot be meant.
type Finding struct {
	verification.TextError
	// Certain says that it is a problem of the definition. Otherwise it is a warning.
	Certain bool
}

// Absence is the assumption that the data of a step lacks a field, and that the step has passed
// or not. An empty Field means that it has no data. An empty Step stands for the input of the
// run, which lacks the field. The step may be a member of a group, such as address.bureau.
type Absence struct {
	Step   verification.NodeID
	Field  string
	Passed bool
	// NotCalled says that there is no such member: it was not called. Met says that its group has passed.
	NotCalled, Met bool
}

// AnswerOfMember is the Step of an Absence in what an `until` reads as `member`.
const AnswerOfMember verification.NodeID = ".member"

// Foreseen is a Condition or a Template that says what may become of it under an Absence.
type Foreseen interface {
	// Absences returns the absences under which it may fail, without duplicates.
	Absences() []Absence
	// Reads reports whether it reads anything of a step; of the input if the step is empty.
	Reads(step verification.NodeID) bool
	// Foresee returns what may become of it under an absence, in a run in which none of the
	// conditions before it holds.
	Foresee(a Absence, before []Condition) Prospect
}

// Prospect is what may become of a condition or a template.
type Prospect struct {
	Holds    bool // a condition may hold, and a template may be rendered
	HoldsNot bool
	Missing  []MissingValue // where it may fail for the absence
}

// MissingValue is a value that an expression reads and that may be missing.
type MissingValue struct {
	Path      string // of the expression in an object; see verification.TextError
	Character int    // where the expression reads the value; see verification.FieldError
	Value     string // as it is read, such as steps.pan.data.score
	Optional  string // how to read it if it may be missing: steps.pan.?data.?score
	Sure      bool   // the expression fails whatever the other values are
}

// listed is a Template that knows how long a list is that it makes.
type listed interface {
	// Length returns the number of items that are written out in a field; -1 if the field is no such list.
	Length(field string) int
}

// Reader is a Condition or a Template that says what it reads.
type Reader interface {
	// ReadPaths returns the paths that the expressions read, such as "steps.pan.data.name".
	ReadPaths() []string
}

// StepDeclaration is what is known about a step before any run.
type StepDeclaration struct {
	Type NodeType
	// Key is the key of a check.
	Key string
	// Fields are those of a customer input. Of its data, an expression may read these,
	// geo_ok if there is a location, and opted_out if it is optional.
	Fields   InputFields
	Optional bool
	// Data is the JSON Schema of a check's data; nil if any field may be read. The data
	// of a check without a result also has source_ok.
	Data verification.Data
	// Differs says that the data may have analysis_ok and differs, a list of facts: see
	// DifferenceFlag.
	Differs bool
	// MayPrecede says that some path from the start visits the step before the node
	// that reads it.
	MayPrecede bool
	// Members are the members of a group, by name: an expression reads
	// steps.<node>.members.<member>.
	Members map[string]StepDeclaration
	// Each says that the node has for_each: steps.<node> has status, passed, clear and items, a list of what the
	// step has without for_each, and no data or members of its own.
	Each bool
}

// Scope is what an expression reads from one run.
type Scope struct {
	Input       verification.Data
	RunID       verification.RunID
	ReferenceID string
	StartedAt   time.Time
	Steps       []StepValues // those reached so far, in execution order
	// Item is the value of `item`, a plain JSON value, and Position that of `position`; 0 if the text has none.
	Item     any
	Position int
	Member   *StepValues // the value of `member`; nil if the text has none
}

// StepValues is what an expression reads from one step.
type StepValues struct {
	Node   verification.NodeID
	Status string // pending, running, passed or failed
	Passed bool
	// Clear says that it has passed, and that nothing is open about its source, its analysis, its place or a hit: neither of the
	// step nor of a member or an element that was called.
	Clear      bool
	Data       verification.Data
	Dispatches int
	// Group says that it is a group of checks, and Each that the node has for_each.
	Group, Each bool
	// Members are the members of a group that were called, whose Node is the name of the member. Items are the
	// elements of a node with for_each, in order.
	Members, Items []StepValues
}

// Condition is a compiled branch condition.
type Condition interface {
	// Holds evaluates the condition. It also returns the values that were read,
	// by path, such as "steps.pan.data.name_match". It fails if a value is
	// missing or if the evaluation exceeds its cost limit.
	Holds(s Scope) (holds bool, seen map[string]any, err error)
}

// Template is a compiled object with ${...} in its strings.
type Template interface {
	// Render evaluates the expressions. An expression that is a whole string
	// keeps the type of its value; inside a longer string it becomes text. It
	// fails if a value is missing or if the result is too large.
	Render(s Scope) (map[string]any, error)
}

// PartialTemplate is a Template that renders what it can.
type PartialTemplate interface {
	Template
	// RenderKnown is Render without the fields whose values cannot be computed. lacking has their paths, and err says why the
	// first one cannot; nil if nothing is left out.
	RenderKnown(s Scope) (object map[string]any, lacking []string, err error)
}

// Values are compiled expressions of any type.
type Values interface {
	// Evaluate returns the plain JSON value of each expression: nil if a value that it reads
	// is missing, and an error if it cannot be evaluated or its value is too large. The cost
	// of all expressions together is bounded.
	Evaluate(s Scope) []any
	// Reads returns the paths that an expression reads, such as "steps.pan.data.name".
	Reads(i int) []string
	// Types returns the JSON types that the value of an expression may have; nil if they are
	// not known.
	Types(i int) []string
	// Findings returns what was found in an expression that cannot be meant.
	Findings(i int) []Finding
	// Agree reports whether two plain JSON values say the same, as values of a fact of a kind.
	// Texts ignore case, space and the order of words, days may be written in several ways, and a
	// list agrees with each of its items. Names also agree if offline.name_match passes
	// them. An object agrees with nothing.
	Agree(kind FactKind, a, b any) bool
}

// Pattern is a compiled regular expression.
type Pattern interface {
	// MatchString reports whether s has a match.
	MatchString(s string) bool
}

// Anchored is a Pattern that says whether it matches whole texts only.
type Anchored interface {
	Pattern
	// Anchored reports whether every match begins with the text, and whether it ends with
	// the text. whole is the pattern with the anchors that it lacks; empty if it is not known.
	Anchored() (begin, end bool, whole string)
}

// Schema is a compiled JSON Schema.
type Schema interface {
	// Check returns the problems of d, by path below d; none if d is valid. Its
	// cost is bounded: an object that is too large for the schema is refused.
	Check(d verification.Data) []verification.FieldError
}

// ExpressionCompiler compiles the texts inside a definition. The text of an error
// is one plain sentence. An error of Condition, Template, Values and Schema may be a *verification.TextError,
// which has the position of the problem, or join several errors (errors.Join).
type ExpressionCompiler interface {
	// Condition compiles a branch condition, which must be a boolean or of a type
	// that is known only at run time.
	Condition(text string, d Declarations) (Condition, error)
	// Template compiles an object whose strings may hold ${...}. Where its values, or
	// the types of their expressions, are known, they must be valid against d.With.
	Template(object verification.Data, d Declarations) (Template, error)
	// Values compiles expressions of any type. problems[i] is what is wrong with texts[i],
	// or nil; the value of such an expression is nil.
	Values(texts []string, d Declarations) (v Values, problems []error)
	// Pattern compiles an RE2 expression.
	Pattern(text string) (Pattern, error)
	// Schema compiles a JSON Schema. It resolves no references to files or hosts, and
	// refuses a schema with which the work of a check would have no bound.
	Schema(schema verification.Data) (Schema, error)
}
