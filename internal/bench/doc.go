// Package bench measures the cost of runs and lists on PostgreSQL relative to a
// floor that is measured on the same server at the same time. It also fills
// databases with runs like those of a service in use.
//
//	make bench
//
// runs the benchmarks on their own durable server, as in production. They alternate
// between a second of runs and half a second of the floor, so that other load of the
// machine affects both. A step is one append to a history: a run of five immediate
// checks has six.
//
// The floor is the rate of durable commits of the server: the same number of
// clients, each updating its own row on its own connection, one commit per update.
package bench
