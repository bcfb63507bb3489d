// Receivers: the servers that notices are sent to, and a circuit breaker for each.

package runner

import (
	"maps"
	"net/url"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// The limits of a receiver that does not respond.
const (
	maxTimeouts = 5                // in a row, before it is paused
	firstPause  = 10 * time.Second // doubled after every probe that timed out
	maxPause    = 10 * time.Minute
	busyPause   = time.Second           // before another attempt at a busy receiver
	deferGap    = 20 * time.Millisecond // between notices that were deferred
)

// maxReceivers is the number of receivers from which those that are not paused, and that no
// notice is being sent to, are forgotten.
const maxReceivers = 1000

// receivers are the servers that notices are being sent to, and those that did not
// respond recently, by their addresses: see receiverAddress. The runner's lock guards it.
type receivers map[string]*receiver

// receiver is a circuit breaker: after maxTimeouts it is paused, then sent a
// single notice, and paused for twice as long if that one times out too.
type receiver struct {
	sending  int
	tenants  map[verification.TenantID]int // of sending, by tenant
	timeouts int                           // in a row
	pause    time.Duration                 // the last one; zero for a receiver that responds
	until    time.Time                     // the end of the pause
	slot     time.Time                     // when the last deferred notice is due
}

// receiverAddress returns the address of the receiver of a URL, such as client.example:8443;
// empty if the URL cannot be read.
func receiverAddress(webhook string) string {
	u, err := url.Parse(webhook)
	if err != nil {
		return ""
	}
	return u.Host
}

// admit reports whether a notice of a tenant may be sent now. If it returns true, the
// caller must call ended when the attempt is over.
func (rs receivers) admit(address string, t verification.TenantID, now time.Time) bool {
	r := rs[address]
	if r == nil {
		if len(rs) >= maxReceivers {
			maps.DeleteFunc(rs, func(_ string, r *receiver) bool {
				return r.sending == 0 && !now.Before(r.until) && !now.Before(r.slot)
			})
		}
		r = &receiver{tenants: map[verification.TenantID]int{}}
		rs[address] = r
	}
	limit := receiverNotices
	if r.pause > 0 {
		limit = 1 // a probe
	}
	if now.Before(r.until) || r.sending >= limit || r.tenants[t] >= tenantNotices {
		return false
	}
	r.sending++
	r.tenants[t]++
	return true
}

// deferUntil returns when n notices that were not admitted are attempted. Those of a
// paused receiver are spread, so that a large backlog costs little while the receiver
// does not respond and is not sent all at once afterwards.
func (rs receivers) deferUntil(address string, now time.Time, n int) time.Time {
	r := rs[address]
	if r.pause == 0 {
		return now.Add(busyPause)
	}
	earliest := r.until
	if earliest.Before(now) { // its probe is under way
		earliest = now.Add(firstPause)
	}
	if r.slot.Before(earliest) {
		r.slot = earliest
	}
	at := r.slot
	r.slot = r.slot.Add(time.Duration(n) * deferGap)
	return at.Truncate(time.Microsecond)
}

// ended records the result of a notice of a tenant that was admitted.
func (rs receivers) ended(address string, t verification.TenantID, err error, now time.Time) {
	r := rs[address]
	r.sending--
	if r.tenants[t]--; r.tenants[t] == 0 {
		delete(r.tenants, t)
	}
	timedOut := rules.ClassOf(err) == rules.ClassTimeout
	switch {
	case !timedOut:
		r.timeouts, r.pause, r.until = 0, 0, time.Time{}
		if r.sending == 0 {
			delete(rs, address)
		}
	case now.Before(r.until): // it was sent before the pause began
	case r.pause > 0:
		r.pause = min(2*r.pause, maxPause)
		r.until = now.Add(r.pause)
	default:
		if r.timeouts++; r.timeouts >= maxTimeouts {
			r.pause = firstPause
			r.until = now.Add(r.pause)
		}
	}
}
