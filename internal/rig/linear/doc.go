// Package linear tests that concurrent requests about one run are linearizable:
// that they are answered as if each took effect at one time between its call and
// its return.
//
// Clients on several hosts submit signals and verdicts, ask the customer again, cancel, read, list and
// wake hosts, while the deadline of the run passes. A [History] is the requests, their
// responses and their times. A [Plan] is a small model of a run, written from the
// text of the contract and not from package verification. Porcupine then searches
// for an order of the requests that the model allows.
//
// Two things happen without a client. A check completes at an unknown time, so the
// model is in several states at once. And time passes: an operation of the history
// advances the clock past the deadline, after which a live run is expired.
package linear
