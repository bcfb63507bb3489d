// Times in plain words: 3 hours ago, due in 20 minutes.

package console

import (
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification/rules"
)

// span returns a duration in the words of the language: less than a minute, minutes
// below an hour, hours below two days, else days. It is rounded down.
func (s session) span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Abs(); {
	case d < time.Minute:
		return s.say("span.under_a_minute")
	case d < time.Hour:
		return s.count("span.minutes", int(d/time.Minute))
	case d < 2*day:
		return s.count("span.hours", int(d/time.Hour))
	}
	return s.count("span.days", int(d/day))
}

// age is a time and, in words, how long ago it was.
type age struct {
	instant
	Words string
}

// ago returns a time in the past and its age at now, as in "3 hours ago".
func (s session) ago(at, now time.Time) age {
	return age{s.At(at), s.say("span.ago", s.span(now.Sub(at)))}
}

// dueBadge returns the badge of a review that began at since: overdue, due soon, or due later,
// in colour and in text.
func (s session) dueBadge(since, due, now time.Time) web.Badge {
	left := due.Sub(now)
	words := s.span(left)
	switch {
	case left < 0:
		return web.Badge{Tone: web.Bad, Icon: "warning", Text: s.say("due.over", words)}
	case now.After(rules.DueSoonAt(since, due)):
		return web.Badge{Tone: web.Warning, Icon: "clock", Text: s.say("due.soon", words)}
	}
	return web.Badge{Text: s.say("due.in", words)}
}

// say returns a message, or its key if there is none. A test checks that all of them exist.
func (s session) say(key string, args ...any) string {
	text, err := s.T(key, args...)
	if err != nil {
		return key
	}
	return text
}

// count returns the message of a count; the key itself if there is none.
func (s session) count(key string, n int, args ...any) string {
	text, err := s.N(key, n, args...)
	if err != nil {
		return key
	}
	return text
}
