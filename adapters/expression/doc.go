// Package expression compiles the texts inside a workflow definition: branch
// conditions and templates in CEL, patterns in RE2, and JSON Schemas.
//
// An expression sees three names. `input` is the input of the run, typed by the
// input schema; `run` has id, reference_id and started_at; `steps.<node>` has
// data, status, passed and dispatches. Declared types are checked when the
// definition is compiled, so a misspelt field is an error of the definition and
// not of a run.
//
// Numbers of JSON are doubles. A calculation may combine one with a whole number, and a
// comparison with a whole number that is written in the expression. Besides the standard
// functions of CEL and its optional values (`a.?b.orValue(c)`) there are those of its
// strings extension.
// No function reads a clock. The cost of an expression is bounded twice: when it
// is compiled, by the most that it could cost, and while it runs. A template
// renders a bounded number of bytes. A JSON Schema is refused if the work of
// checking a value cannot be bounded, and a value if checking it would take too
// much.
package expression
