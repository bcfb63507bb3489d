// Package store has the ports of the store, and what crosses them: commits and the work
// that they queue, queries and pages, and idempotency keys. Package storetest tests every
// sentence of the ports.
package store
