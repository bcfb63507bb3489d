// The classes, for tests.

package webhook

// The classes of attempts.
const (
	ClassDelivered   = classDelivered
	ClassGone        = classGone
	ClassRefused     = classRefused
	ClassServerError = classServerError
	ClassRedirected  = classRedirected
	ClassTimeout     = classTimeout
	ClassUnreachable = classUnreachable
	ClassBlocked     = classBlocked
	ClassUnsent      = classUnsent
)
