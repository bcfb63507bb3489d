// Package postgres keeps everything in PostgreSQL, for any number of hosts.
//
// [Open] makes a [Store], which is every store port of package verification.
// What one append adds to a run is one row of its history, and the appends
// that wait at a moment are committed together. Lists and their totals cost the
// same however many runs there are. A [Fleet] wakes the hosts that share the
// database when one of them leaves work to the others, by jobs of River that
// are inserted in the transaction that leaves it.
//
// Everything stands in the schema "verifyd", so that the database may be the
// embedder's own; see [Store.Within] for runs that start in the embedder's
// transactions.
package postgres
