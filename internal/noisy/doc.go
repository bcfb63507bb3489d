// Package noisy measures what the load of one tenant does to another tenant on the
// same hosts. Real hosts run as processes of their own, one from memory or two on a
// PostgreSQL. The bystander calls them at a fixed rate, first alone and then while
// the attacker does something that used to stop everybody: a receiver of webhooks
// that never answers, a slow vendor, large inputs, deep pages of lists, many
// reports at once, large uploads, and definitions that are expensive to execute.
//
//	make noisy
//
// prints the table of docs/performance.md. `go test` runs a short form, which only
// holds that the bystander is served. Everything stays on the loopback interface,
// and each attack is bounded in count and time.
package noisy
