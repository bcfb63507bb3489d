package s3_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestALedgerInABucketKeepsTheContract(t *testing.T) {
	b := newBucket(t)
	storetest.Ledger(t, func() verification.ErasureLedger { return b.store(t) })
}
