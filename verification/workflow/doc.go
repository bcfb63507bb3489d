// Package workflow is the language of workflows: what a [Definition] says, what is wrong with it, and
// the [Program] that it is compiled to. It does no I/O and keeps no state.
//
// Read [Definition] and [Node] first, then [Compile]. A [Workflow] is a workflow of a tenant with its
// versions. An [ExpressionCompiler] compiles the conditions, templates, patterns and schemas in a
// definition; adapters/expression is one.
//
// Compile reports every problem at once. [Restore] compiles a version that was valid when it was saved
// and does not validate it again, so that a rule that was added later cannot break older runs. Package
// rules runs programs. docs/workflows.md describes the
// language, and docs/workflow-semantics.md what a run does.
package workflow
