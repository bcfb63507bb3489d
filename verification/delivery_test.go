package verification_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// classed is a Notifier's error that says its class.
type classed string

func (c classed) Error() string { return "not taken" }

func (c classed) Class() string { return string(c) }

func TestErrorMayHaveTheClassOfItsAttempt(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{nil, "delivered"},
		{errors.New("down"), "failed"},
		{classed("timeout"), "timeout"},
		{fmt.Errorf("tell: %w", classed("refused_4xx")), "refused_4xx"},
		{&verification.RetryError{Cause: classed("gone")}, "gone"},
		{&verification.RetryError{Cause: errors.New("429")}, "failed"},
		{classed(""), "failed"},
	} {
		if got := verification.ClassOf(row.err); got != row.want {
			t.Errorf("ClassOf(%v) = %q, want %q", row.err, got, row.want)
		}
	}
}

func TestDeliveryStatesAreReadExactly(t *testing.T) {
	for _, s := range []verification.DeliveryState{
		verification.DeliveryPending, verification.DeliveryDelivered, verification.DeliveryFailed,
	} {
		if got, err := verification.ParseDeliveryState(string(s)); err != nil || got != s {
			t.Errorf("ParseDeliveryState(%q) = %q, %v; want it back", s, got, err)
		}
	}
	for _, s := range []string{"", "Pending", "failed ", "gone"} {
		if got, err := verification.ParseDeliveryState(s); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("ParseDeliveryState(%q) = %q, %v; want ErrInvalid", s, got, err)
		}
	}
}

func TestDeliveryDescribesItsAttempts(t *testing.T) {
	began := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	try := func(attempt, minutes int) verification.Notice {
		return verification.Notice{URL: "https://client.example", Attempt: attempt, At: at(minutes), Run: verification.RunView{ID: "r"}}
	}
	never := time.Time{}
	first := verification.Delivery{}.Attempted(try(0, 0), classed("timeout"), at(5))
	second := first.Attempted(try(1, 5), errors.New("down"), never)
	again := second.Requeued(at(60))
	third := again.Attempted(try(0, 61), nil, at(99))
	want := []verification.Delivery{
		{State: verification.DeliveryPending, Attempts: 1, LastAt: at(0), NextAt: at(5), Class: "timeout"},
		{State: verification.DeliveryFailed, Attempts: 2, LastAt: at(5), Class: "failed"},
		{State: verification.DeliveryPending, Attempts: 2, LastAt: at(5), NextAt: at(60), Class: "failed"},
		{State: verification.DeliveryDelivered, Attempts: 3, LastAt: at(61), Class: "delivered"},
	}
	for i := range want {
		want[i].Run, want[i].URL, want[i].FirstAt = "r", "https://client.example", began
	}
	if diff := cmp.Diff(want, []verification.Delivery{first, second, again, third}); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func TestDeliveryCountsAttemptsThatTheLedgerMissed(t *testing.T) {
	d := verification.Delivery{}.Attempted(verification.Notice{Attempt: 6}, errors.New("down"), time.Time{})
	if d.Attempts != 7 {
		t.Errorf("attempts = %d, want 7", d.Attempts)
	}
}
