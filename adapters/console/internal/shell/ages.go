// Times in plain words: 3 hours ago, due in 20 minutes.

package shell

import (
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification/rules"
)

// Span returns a duration in the words of the language: less than a minute, minutes
// below an hour, hours below two days, else days. It is rounded down.
func (s Session) Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Abs(); {
	case d < time.Minute:
		return s.Say("span.under_a_minute")
	case d < time.Hour:
		return s.Count("span.minutes", int(d/time.Minute))
	case d < 2*day:
		return s.Count("span.hours", int(d/time.Hour))
	}
	return s.Count("span.days", int(d/day))
}

// Age is a time and, in words, how long ago it was.
type Age struct {
	Instant
	Words string
}

// Ago returns a time in the past and its Age at now, as in "3 hours ago".
func (s Session) Ago(at, now time.Time) Age {
	return Age{s.At(at), s.Say("span.ago", s.Span(now.Sub(at)))}
}

// BackBadge returns the badge of a review whose run is back from its customer; nil for any other.
func (s Session) BackBadge(v rules.Review) *web.Badge {
	if v.Round == 0 {
		return nil
	}
	return &web.Badge{Tone: web.Info, Text: s.Say("round.back", v.Round)}
}

// DueBadge returns the badge of a review with a due time: overdue, due soon, or due later,
// in colour and in text.
func (s Session) DueBadge(v rules.Review, now time.Time) web.Badge {
	left := v.DueAt.Sub(now)
	words := s.Span(left)
	switch {
	case left < 0:
		return web.Badge{Tone: web.Bad, Icon: "warning", Text: s.Say("due.over", words)}
	case now.After(v.DueSoonAt()):
		return web.Badge{Tone: web.Warning, Icon: "clock", Text: s.Say("due.soon", words)}
	}
	return web.Badge{Text: s.Say("due.in", words)}
}
