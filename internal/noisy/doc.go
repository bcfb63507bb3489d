// Package noisy measures how the load of one tenant affects another tenant on the
// same hosts. The hosts are processes: one with a store in memory, or two with a
// PostgreSQL. The bystander calls them at a fixed rate, first alone and then while
// the attacker causes load of one kind: a receiver of webhooks
// that never answers, a slow vendor, large inputs, deep pages of lists, many
// reports at once, large uploads, and definitions that are expensive to execute. A
// control occupies the processors without calling the hosts.
//
//	make noisy
//
// prints the table of docs/performance.md. `go test` runs a short version, which only
// tests that the bystander is served. Everything stays on the loopback interface,
// and each attack is bounded in count and time.
package noisy
