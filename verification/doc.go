// Package verification holds the rules of verification journeys: what a
// workflow is, what can happen to a run of it, and how a run reads.
//
// # A run is its history
//
// The only truth about a run is an append-only list of [Event] values. Three
// pure functions work on it:
//
//	Decide(program, run, command, now) -> events, or a typed error
//	run.Evolve(event)                  -> the run one event later
//	run.Summary()                      -> what lists and filters need
//
// A command is what somebody wants of a run. [Decide] refuses it with an
// [*Error] or turns it into events; it is the only place with rules about what
// may happen. [Run.Evolve] never fails. Nothing here does I/O, reads a clock,
// or keeps state: values go in and values come out.
//
// # Two axes
//
// A run reads one of six statuses, which say how far it got, and one of four
// decisions, which say where the human verdict stands. The axes are
// independent and every combination is legal.
//
//	status    in_progress  abandoned | completed  failed  expired  cancelled
//	                 not terminal    | terminal
//	decision  null  review  approve  reject
//
// Two statuses are seen only at a moment. A run is abandoned while it waits on
// a customer who has been idle for longer than the workflow allows, and is in
// progress again when the customer comes back. A run is expired once it is
// older than its workflow allows. So a status is always asked for as of a
// moment: [Run.AsOf], [Summary.StatusAt].
//
// # The life of a run
//
//	start ──> check ──> branch ──> ... ──> end            completed
//	            │ └─ pending: polled until it answers
//	            ├─ failed to answer: retried, then the fallback
//	            └─ no way on                              failed
//	      ──> consent, customer input: parked on the customer
//	      ──> review: parked on a reviewer, decision is review
//	any moment before the end: cancelled, or expired
//
// Everything the rules need from outside stands in ports.go. The package
// engine carries decisions out; the packages below adapters talk to the world.
package verification
