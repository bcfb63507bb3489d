// Package noisy measures how the load of one tenant affects another tenant on the
// same hosts. The hosts are processes: one with a store in memory, or two that share a
// PostgreSQL database. The bystander calls them at a fixed rate, first alone and then
// while the attacker causes load of one kind: lists with a large offset, many reports at
// once, large inputs, large uploads, definitions that are expensive to execute, a slow
// vendor, or a receiver of webhooks that never responds. A control occupies the
// processors without calling the hosts. Large bodies are encoded before, because the
// clients of both tenants share this process.
//
//	make noisy
//
// prints a table; docs/performance.md says what it showed. `go test` runs a short version, which only
// tests that the bystander is served. Everything stays on the loopback interface,
// and each attack is bounded in count and time.
package noisy
