// Receivers: hosts that take notices, and those that do not answer.

package engine

import (
	"net/url"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// The measures of a receiver that does not answer.
const (
	maxTimeouts = 5                // in a row, until it is paused
	firstPause  = 10 * time.Second // doubled after every probe that timed out
	maxPause    = 10 * time.Minute
	busyPause   = time.Second           // before a receiver that is busy is tried again
	deferGap    = 20 * time.Millisecond // between notices that were deferred
)

// receivers are the hosts that are being sent notices, and those that did not
// answer lately. The runner's lock guards it.
type receivers map[string]*receiver

// receiver is a circuit breaker: after maxTimeouts it is paused, then sent a
// single notice, and paused for twice as long if that one times out too.
type receiver struct {
	sending  int
	timeouts int           // in a row
	pause    time.Duration // the last one; zero for a receiver that answers
	until    time.Time     // the end of the pause
	slot     time.Time     // when the last deferred notice is due
}

// receiverOf is what notices to a URL are bounded by: its host and port.
func receiverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// admit reports whether a notice may be sent now; ended must follow then.
func (rs receivers) admit(host string, now time.Time) bool {
	r := rs[host]
	if r == nil {
		r = &receiver{}
		rs[host] = r
	}
	most := receiverNotices
	if r.pause > 0 {
		most = 1 // a probe
	}
	if now.Before(r.until) || r.sending >= most {
		return false
	}
	r.sending++
	return true
}

// deferUntil returns when n notices that were not admitted are tried. Those of a
// paused receiver are spread, so that a large backlog costs little until the
// receiver answers and is not sent all at once then.
func (rs receivers) deferUntil(host string, now time.Time, n int) time.Time {
	r := rs[host]
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

// ended counts what came of a notice that was admitted.
func (rs receivers) ended(host string, err error, now time.Time) {
	r := rs[host]
	r.sending--
	timedOut := verification.ClassOf(err) == verification.ClassTimeout
	switch {
	case !timedOut:
		r.timeouts, r.pause, r.until = 0, 0, time.Time{}
		if r.sending == 0 {
			delete(rs, host)
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
