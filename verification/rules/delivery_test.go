package rules_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
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
		if got := rules.ClassOf(row.err); got != row.want {
			t.Errorf("ClassOf(%v) = %q, want %q", row.err, got, row.want)
		}
	}
}

func TestDeliveryStatesAreReadExactly(t *testing.T) {
	for _, s := range []rules.DeliveryState{
		rules.DeliveryPending, rules.DeliveryDelivered, rules.DeliveryFailed,
	} {
		if got, err := rules.ParseDeliveryState(string(s)); err != nil || got != s {
			t.Errorf("ParseDeliveryState(%q) = %q, %v; want it back", s, got, err)
		}
	}
	for _, s := range []string{"", "Pending", "failed ", "gone"} {
		if got, err := rules.ParseDeliveryState(s); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("ParseDeliveryState(%q) = %q, %v; want ErrInvalid", s, got, err)
		}
	}
}

func TestDeliveryDescribesItsAttempts(t *testing.T) {
	began := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	try := func(attempt, minutes int) rules.Notice {
		return rules.Notice{URL: "https://client.example", Attempt: attempt, At: at(minutes), Run: rules.RunView{ID: "r"}}
	}
	never := time.Time{}
	first := rules.Delivery{}.Attempted(try(0, 0), classed("timeout"), at(5))
	second := first.Attempted(try(1, 5), errors.New("down"), never)
	again := second.Requeued(at(60))
	third := again.Attempted(try(0, 61), nil, at(99))
	want := []rules.Delivery{
		{State: rules.DeliveryPending, Attempts: 1, LastAt: at(0), NextAt: at(5), Class: "timeout"},
		{State: rules.DeliveryFailed, Attempts: 2, LastAt: at(5), Class: "failed"},
		{State: rules.DeliveryPending, Attempts: 2, LastAt: at(5), NextAt: at(60), Class: "failed"},
		{State: rules.DeliveryDelivered, Attempts: 3, LastAt: at(61), Class: "delivered"},
	}
	for i := range want {
		want[i].Run, want[i].URL, want[i].FirstAt = "r", "https://client.example", began
	}
	if diff := cmp.Diff(want, []rules.Delivery{first, second, again, third}); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func TestDeliveryCountsAttemptsThatTheLedgerMissed(t *testing.T) {
	d := rules.Delivery{}.Attempted(rules.Notice{Attempt: 6}, errors.New("down"), time.Time{})
	if d.Attempts != 7 {
		t.Errorf("attempts = %d, want 7", d.Attempts)
	}
}
