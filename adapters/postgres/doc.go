// Package postgres stores runs, work, workflows and tenants in PostgreSQL, for any
// number of hosts.
//
// [Open] returns a [Store], which implements store.Store. Each append is one row
// of a history; appends that wait at the same time are committed together. The cost of a
// list does not grow with the number of runs. A [Membership] wakes the hosts of a database
// when one of them leaves work to the others, by jobs of River that are inserted in the
// same transaction.
//
// All tables are in the schema "verifyd", so the database may also hold the tables
// of an embedding application. See [Store.Within] for runs that start in the
// transactions of that application.
package postgres
