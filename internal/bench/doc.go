// Package bench measures what runs and lists cost on PostgreSQL, each against a
// floor that is measured beside it on the same server, and fills databases with
// runs that look like those of a service that has been used for a while.
//
//	make bench
//
// runs the benchmarks on a server of their own that keeps what it commits, as in
// production. They alternate, a second of this and half a second of that, so that
// what else goes on on the machine falls on both. A step is one append to a
// history: a run of five checks that answer at once has six.
//
// The floor is what such a server can do at all with durable commits: as many
// clients as there are, each updating a row of its own on a connection of its
// own, one commit an update.
package bench
