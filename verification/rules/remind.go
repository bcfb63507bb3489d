// What is recorded when its time comes: a reminder that a verdict falls due soon, and the
// deadline.

package rules

import "time"

// remindAt returns when to record that the verdict falls due soon; zero for never.
func (r Run) remindAt() time.Time {
	if !r.Started.ReviewDueSoon {
		return time.Time{}
	}
	since, needed := r.InReview()
	if !needed || since.Equal(r.reminded) || r.Started.ReviewDueMinutes == 0 {
		return time.Time{}
	}
	return dueSoonAt(since.Add(r.turn.away), r.dueAt(since))
}

// NextDue returns when the next reminder or the expiry of a live run must be recorded; zero
// for never.
func (r Run) NextDue() time.Time {
	at := r.remindAt()
	if deadline := r.Deadline(); r.Ended == "" && !deadline.IsZero() {
		deadline = deadline.Add(time.Microsecond) // at the deadline itself, it has not passed
		if at.IsZero() || deadline.Before(at) {
			return deadline
		}
	}
	return at
}

// dueSoonPart is the part of the time for a verdict, at its end, in which the verdict is due
// soon.
const dueSoonPart = 4

// dueSoonAt returns when the last quarter of the time for a verdict begins, which counts from a time.
func dueSoonAt(from, due time.Time) time.Time { return due.Add(-due.Sub(from) / dueSoonPart) }

// dueAt returns when the verdict is due of a run that has needed it since a time; zero for no due time. The time in which a
// customer was asked again does not count.
func (r *Run) dueAt(since time.Time) time.Time {
	if r.Started.ReviewDueMinutes == 0 {
		return time.Time{}
	}
	return since.Add(r.turn.away + time.Duration(r.Started.ReviewDueMinutes)*time.Minute)
}

func (ReviewDueSoon) fold(r *Run, _ time.Time) { r.reminded, _ = r.InReview() }

func (d *decision) remind() {
	at := d.run.remindAt()
	if at.IsZero() || d.now.Before(at) {
		return
	}
	since, _ := d.run.InReview()
	d.add(ReviewDueSoon{DueAt: d.run.dueAt(since)})
}
