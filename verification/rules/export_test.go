package rules

import "time"

// BytesOf returns how many bytes a fact adds to the length of a history.
func BytesOf(f Fact) int { return f.about().bytes }

// RemindAt returns when to record that the verdict falls due soon; zero for never.
func (r Run) RemindAt() time.Time { return r.remindAt() }
