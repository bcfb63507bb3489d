// Package bench measures the cost of runs and lists on PostgreSQL, and of requests
// over HTTP, each relative to a floor that is measured in turn with it. It also fills
// databases with runs like those of a service in use.
//
//	make bench
//
// runs the benchmarks on their own durable server, as in production. Slices of runs (1 s),
// of the skeleton (600 ms) and of the floor (300 ms) take turns, so that other load of the
// machine affects all three, and ratios are medians over these intervals. A run of five
// immediate checks has six appends.
//
// The skeleton is a design like ours without rules: one INSERT of the check's data
// and one UPDATE of the run for each append, which one writer commits in groups. It has
// as many appends as our runs, and the same clients.
//
// The floor is the rate of durable commits of the server: the same number of
// clients, each updating its own row on its own connection, one commit per update.
//
// The floor of a request over HTTP is a net/http handler that reads the body and
// writes the bytes of the same response. The pages of the console have the same floor
// and, on PostgreSQL, a prepared SELECT 1 as a second one.
package bench
