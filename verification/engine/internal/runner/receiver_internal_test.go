package runner

import (
	"strconv"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
)

type timeoutError struct{ error }

func (timeoutError) Class() string { return rules.ClassTimeout }

func TestReceiversThatAreNotPausedAreForgotten(t *testing.T) {
	rs, now := receivers{}, time.Unix(0, 0)
	timeOut := func(address string, times int) {
		for range times {
			if !rs.admit(address, "t", now) {
				t.Fatalf("a notice to %s is not admitted", address)
			}
			rs.ended(address, "t", timeoutError{}, now)
		}
	}
	timeOut("paused", maxTimeouts)
	rs.admit("busy", "t", now)
	for n := range 3 * maxReceivers {
		timeOut(strconv.Itoa(n), 1)
	}
	if len(rs) > maxReceivers {
		t.Errorf("%d receivers are known, want at most %d", len(rs), maxReceivers)
	}
	if rs["paused"] == nil || rs["busy"] == nil {
		t.Error("a paused or a busy receiver was forgotten")
	}
	now = now.Add(firstPause)
	for n := range maxReceivers {
		timeOut(strconv.Itoa(-n), 1)
	}
	if rs["paused"] != nil {
		t.Error("a receiver is known although its pause is over")
	}
}
