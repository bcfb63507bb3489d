// The pages without a form: waiting, the end, and what went wrong.

package journey

import (
	"net/http"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

// waitPage is shown while the checks run, or while a person looks at them.
func waitPage(v visitor, j engine.Journey) page {
	p := newPage(v, j)
	p.Title, p.Text, p.State, p.Refresh = "wait.title", "wait.text", stateOf(j), 4
	if underReview(j) {
		p.Title, p.Text, p.Refresh = "review.title", "review.text", 60
		p.Icon, p.Reference = "clock", j.Run.ReferenceID
	}
	if j.Done < j.Total {
		p.Now, p.Total = j.Done+1, j.Total
	}
	return p
}

// endPage is shown once the run is over. It does not say how the checks or the
// review turned out: that is for the client to say.
func endPage(v visitor, j engine.Journey) page {
	p := newPage(v, j)
	p.Icon, p.Closing = "stop", "end.close"
	switch {
	case j.Run.Status == verification.StatusExpired:
		p.Title, p.Text, p.Closing = "expired.title", "expired.text", ""
	case j.Run.Status == verification.StatusCancelled:
		p.Title = "cancelled.title"
	case j.Declined && j.Checked:
		p.Title = "declined.title"
	case j.Declined:
		p.Title, p.Text = "declined.title", "declined.text"
	default:
		p.Title, p.Icon = "done.title", "tick"
	}
	if p.Redirect = j.Redirect; p.Redirect != "" {
		p.Closing, p.Refresh = "end.leave", 3
	}
	return p
}

// endStatus is 200 for a run that was carried through: a thank-you is no
// failure, and apps that show the page inside of theirs must not take it for
// one.
func endStatus(s verification.Status) int {
	if s == verification.StatusCompleted || s == verification.StatusFailed {
		return http.StatusOK
	}
	return http.StatusGone
}

// noticePage says why there is nothing to show.
func noticePage(v visitor, status int) page {
	p := page{visitor: v, Icon: "stop"}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		p.Title, p.Text = "lost.title", "lost.text"
	case http.StatusServiceUnavailable:
		p.Title, p.Text, p.Again = "busy.title", "busy.text", true
	case http.StatusForbidden:
		p.Title, p.Text, p.Again = "foreign.title", "foreign.text", true
	case http.StatusRequestEntityTooLarge:
		p.Title, p.Text, p.Again = "toomuch.title", "toomuch.text", true
	default:
		p.Title, p.Text, p.Again = "broken.title", "broken.text", true
	}
	return p
}
