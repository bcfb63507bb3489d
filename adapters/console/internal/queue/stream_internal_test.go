// Tests of the watcher with a queue that cannot be read.

package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAfterAFailureTheNextStateCountsAsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		advance := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		var fails atomic.Bool
		fails.Store(true)
		w := newWatcher(func(context.Context, verification.TenantID) (p store.Page[rules.Summary], err error) {
			if fails.Load() {
				err = errors.New("the store is not available")
			}
			return p, err
		})
		changed, end, ok := w.watch(t.Context(), "t", "asha", "")
		if !ok {
			t.Fatal("watch refuses the first stream")
		}
		defer end()
		advance(3 * queueLook)
		select {
		case <-changed:
			t.Error("a queue that cannot be read has changed")
		default:
		}
		fails.Store(false)
		advance(queueLook)
		select {
		case <-changed:
		default:
			t.Error("the first state after a failure is no change")
		}
		advance(3 * queueLook)
		select {
		case <-changed:
			t.Error("the same state is a change")
		default:
		}
	})
}
