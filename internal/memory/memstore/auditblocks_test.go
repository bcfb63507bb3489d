// Tests of the blocks of the audit trail.

package memstore_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification/store"
)

// A folder is opened block by block, so that a block must not cost as much as all before it.
func TestABlockIsAddedWithoutCopyingTheOthers(t *testing.T) {
	const blocks = 4000
	s := memstore.New()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range blocks {
		if err := memstore.AddAuditBlock(t.Context(), s, memstore.NewAuditBlock([]store.AuditEntry{{Tenant: "acme", ID: fmt.Sprintf("%08d", i)}})); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / blocks; bytes > 16<<10 {
		t.Errorf("each of %d blocks needs %d bytes to be added, want no more than a few blocks need", blocks, bytes)
	}
}
