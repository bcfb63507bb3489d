// Package rules is the pure domain of verifyd: what may happen to a run of a workflow, its status and
// the decision on it, the review queue, and the report. Nothing in it does I/O, reads a clock or keeps
// state: values go in and values come out.
//
// Read [Run], [Event] and [Command] first, then [Decide]. [Summary] is what lists show, [Report] what a
// report shows, and [Review] what the review queue shows.
//
// # A run is its history
//
// The stored state of a run is an append-only list of [Event] values. Three
// pure functions work on it:
//
//	Decide(program, run, command, now) -> events and the new run, or a typed error
//	run.Evolve(event)                  -> the run after the event
//	run.Summary()                      -> what lists and filters need
//
// A command requests a change of a run. [Decide] refuses it with an [*verification.Error] or
// turns it into events; it holds every rule about what may happen. [Run.Evolve]
// never fails. Nothing in this package does I/O, reads a clock or keeps state:
// values go in and values come out.
//
// # Two axes
//
// A run has one of six statuses, which say how far it got, and one of four
// decisions, which say whether the run needs a verdict or has one. The
// status does not determine the decision: a run of any status may have a verdict.
// Only a run that is in progress or completed can have the decision review.
//
//	status    in_progress  abandoned | completed  failed  expired  cancelled
//	                 not terminal    | terminal
//	decision  null  review  approve  reject
//
// Two statuses depend on the time at which a run is read. A run is abandoned
// while it waits on a customer who has been idle for longer than the workflow
// allows, and is in progress again when the customer opens the journey again. A run is
// expired once it is older than its workflow allows. So a status is always read at a
// given time: [Run.AsOf], [Summary.StatusAt].
//
// # The life of a run
//
//	start ──> check ──> branch ──> ... ──> end            completed
//	            │ └─ pending: polled until the result is there
//	            ├─ no result: retried, then the fallback
//	            ├─ nothing left to call: on_unavailable, or failed
//	            └─ did not pass: on_failed, or           failed
//	      ──> consent, customer input: parked on the customer
//	      ──> review: parked on a reviewer, decision is review
//	at any time before the end: cancelled, or expired
//
// # Ports
//
// [Notifier] is the port that needs what this package knows. The ports of the store are in package store, and [Report] is
// printed by package report.
package rules
