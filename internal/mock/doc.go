// Package mock makes a port fail, or lets a test see how it was called. It is
// written by moq from verification/ports.go; for a store that works, use
// adapters/memory.
package mock

//go:generate go tool -modfile=../tools/go.mod moq -rm -out ports_moq.go -pkg mock ../../verification Clock RunStore WorkQueue WorkflowStore TenantStore IdempotencyStore Provider LinkSigner ReportPrinter Notifier DeliveryStore DocumentStore
