// Package expression compiles the texts inside a workflow definition: branch
// conditions and templates in CEL, patterns in RE2, and JSON Schemas.
//
// An expression sees three names. `input` is what the run was started with,
// typed by the input schema; `run` has id, reference_id and started_at;
// `steps.<node>` has data, status, passed and dispatches. What a declaration
// makes known is checked when the definition is, so that a misspelt field is
// an error of the definition and not of a run.
//
// Numbers of JSON are doubles. A whole number may stand next to one in a
// comparison, an equation or a calculation. Beside the standard functions of
// CEL and its optional values (`a.?b.orValue(c)`) there are lowerAscii,
// upperAscii, trim, substring, replace, split and join. Nothing reads a clock,
// and the cost of an expression is bounded twice: before it is accepted, by
// what it could come to, and while it runs, by what it does come to. A template
// renders a bounded number of bytes. A JSON Schema is refused when the work of
// checking a value cannot be bounded, and a value when it would take too much.
package expression
