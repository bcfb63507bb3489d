// Package linear asks whether concurrent requests about one run are answered as
// if they had come one after the other, and each while its client waited for it.
//
// Clients on several hosts deliver signals and verdicts, cancel, read, list and
// sweep, while the deadline of the run passes. What each asked, what it was
// answered, and when, is a [History]. A [Plan] knows what a run is to its
// clients: a small model of its own, written from the contract's text and not
// from the rules of package verification. Porcupine then looks for an order of
// the requests that the model allows.
//
// Two things happen without a client. A check comes to its answer at some
// moment, so there the model is in several states at once. And time goes on: the
// clock is turned by an operation of the history, after which a run that was
// not over reads expired.
package linear
