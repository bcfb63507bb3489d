package memory_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
)

// The store of a process that has no database. After a restart it has everything that a call
// of the store has acknowledged.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	options := memory.FolderOptions{OpenedAt: time.Now(), Fail: func(err error) { panic(err) }}
	store, err := memory.Open(ctx, dir, options) // engine.Ports{Store: store, ...}
	if err != nil {
		panic(err)
	}
	bank := verification.TenantID("0190c0de-0000-7000-8000-000000000001")
	if err := store.SaveTenant(ctx, verification.Tenant{ID: bank, Name: "Example Bank"}); err != nil {
		panic(err)
	}
	if err := store.Close(); err != nil { // after the engine's Close
		panic(err)
	}

	store, err = memory.Open(ctx, dir, options)
	if err != nil {
		panic(err)
	}
	tenant, err := store.Tenant(ctx, bank)
	fmt.Println(tenant.Name, err)
	if err := store.Close(); err != nil {
		panic(err)
	}
	// Output: Example Bank <nil>
}
