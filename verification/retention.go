// Retention: how long the data of runs is kept.

package verification

import (
	"fmt"
	"time"
)

// Retention says how long the data of runs is kept, in days of 24 hours. 0 sets nothing: no
// minimum, and for the others: never. See docs/data-protection.md, "Retention".
type Retention struct {
	// KeepDays is the minimum that a law demands: until then a run is neither redacted nor deleted.
	KeepDays int `json:"keep_days,omitempty"`
	// RedactAfterDays is when the personal data of a run is removed.
	RedactAfterDays int `json:"redact_after_days,omitempty"`
	// DeleteAfterDays is when a run is removed, redacted or not.
	DeleteAfterDays int `json:"delete_after_days,omitempty"`
	// DocumentsAfterDays is when the uploads of a run are removed.
	DocumentsAfterDays int `json:"documents_after_days,omitempty"`
	// From is the time from which days count; empty means RetentionFromEnd.
	From RetentionFrom `json:"from,omitempty"`
}

// RetentionFrom is the time of a run from which the days of a Retention count.
type RetentionFrom string

// The times.
const (
	RetentionFromEnd   RetentionFrom = "end"
	RetentionFromStart RetentionFrom = "start"
)

// maxRetentionDays bounds each number of a Retention: about 100 years.
const maxRetentionDays = 36_500

// Problems returns what is wrong with r: numbers outside 0 to 36500, data that would be removed
// before the minimum ends or after the run is deleted, and an unknown From. The names are those of the
// fields in a file.
func (r Retention) Problems() (found []FieldError) {
	add := func(name, format string, args ...any) {
		found = append(found, FieldError{Name: name, Message: fmt.Sprintf(format, args...)})
	}
	after := []struct {
		name string
		days int
	}{
		{"redact_after_days", r.RedactAfterDays}, {"documents_after_days", r.DocumentsAfterDays}, {"delete_after_days", r.DeleteAfterDays},
	}
	outside := func(days int) bool { return days < 0 || days > maxRetentionDays }
	if outside(r.KeepDays) {
		add("keep_days", "must be 0 to %d", maxRetentionDays)
	}
	for _, a := range after {
		switch {
		case outside(a.days):
			add(a.name, "must be 0 to %d", maxRetentionDays)
		case a.days != 0 && a.days < r.KeepDays:
			add(a.name, "is %d, below the minimum: keep_days is %d", a.days, r.KeepDays)
		case r.DeleteAfterDays > 0 && a.days > r.DeleteAfterDays:
			add(a.name, "is %d, but the run is deleted before: delete_after_days is %d", a.days, r.DeleteAfterDays)
		}
	}
	if r.From != "" && r.From != RetentionFromEnd && r.From != RetentionFromStart {
		add("from", "must be %s or %s", RetentionFromEnd, RetentionFromStart)
	}
	return found
}

// KeptUntil returns the end of the minimum for a run that started and ended at these times; zero if
// there is no minimum.
func (r Retention) KeptUntil(started, ended time.Time) time.Time {
	return r.due(r.KeepDays, started, ended)
}

// RedactAt returns when the personal data of a run that started and ended at these times is removed; zero for
// never. DocumentsAt and DeleteAt do the same for its uploads and for the run.
func (r Retention) RedactAt(started, ended time.Time) time.Time {
	return r.due(r.RedactAfterDays, started, ended)
}

// DocumentsAt is described at RedactAt.
func (r Retention) DocumentsAt(started, ended time.Time) time.Time {
	return r.due(r.DocumentsAfterDays, started, ended)
}

// DeleteAt is described at RedactAt.
func (r Retention) DeleteAt(started, ended time.Time) time.Time {
	return r.due(r.DeleteAfterDays, started, ended)
}

// Removes reports whether anything is ever removed.
func (r Retention) Removes() bool { return r.First(time.Time{}).After(time.Time{}) }

// First returns the earliest time at which something of a run is removed whose days count from a time; that time if
// nothing ever is.
func (r Retention) First(from time.Time) time.Time {
	first := from
	for _, days := range []int{r.RedactAfterDays, r.DocumentsAfterDays, r.DeleteAfterDays} {
		if at := r.due(days, from, from); !at.IsZero() && (first.Equal(from) || at.Before(first)) {
			first = at
		}
	}
	return first
}

// due returns the time after a number of days, which is never within the minimum.
func (r Retention) due(days int, started, ended time.Time) time.Time {
	if days == 0 {
		return time.Time{}
	}
	if r.From == RetentionFromStart {
		ended = started
	}
	return ended.Add(time.Duration(max(days, r.KeepDays)) * 24 * time.Hour)
}

// Longer returns a policy that removes nothing before both r and o would: it has the larger number of days of each
// field, of which none is never, and counts from the end if one of the two does.
func (r Retention) Longer(o Retention) Retention {
	longer := func(a, b int) int {
		if a == 0 || b == 0 {
			return 0
		}
		return max(a, b)
	}
	both := Retention{
		KeepDays: max(r.KeepDays, o.KeepDays), RedactAfterDays: longer(r.RedactAfterDays, o.RedactAfterDays),
		DeleteAfterDays: longer(r.DeleteAfterDays, o.DeleteAfterDays), DocumentsAfterDays: longer(r.DocumentsAfterDays, o.DocumentsAfterDays),
	}
	if r.From == o.From {
		both.From = r.From
	}
	return both
}

// Merge returns the policy for the runs of a workflow with the policy w, whose tenant has the policy r.
// The larger KeepDays wins. Each of the others is that of the workflow, if it sets it. A minimum of the
// tenant that counts from the end keeps doing so. Nothing is removed before the minimum ends, also if the two
// policies do not fit: see Problems.
func (r Retention) Merge(w Retention) Retention {
	or := func(days, otherwise int) int {
		if days != 0 {
			return days
		}
		return otherwise
	}
	merged := Retention{
		KeepDays: max(r.KeepDays, w.KeepDays), RedactAfterDays: or(w.RedactAfterDays, r.RedactAfterDays),
		DeleteAfterDays: or(w.DeleteAfterDays, r.DeleteAfterDays), DocumentsAfterDays: or(w.DocumentsAfterDays, r.DocumentsAfterDays),
		From: w.From,
	}
	if merged.From == "" || r.KeepDays > 0 && r.From != RetentionFromStart {
		merged.From = r.From
	}
	return merged
}
