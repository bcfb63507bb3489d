// Limits on what is printed of a report, which bound its cost.

package pdf

// Text beyond a limit is cut, and the page says so. The limits of text are in
// characters.
const (
	limitValue = 2000   // a value, a reason, a message
	limitText  = 20_000 // the text of a consent, which is never cut
	limitName  = 300    // a label, a name, an id, the key of a value
	limitRows  = 500    // rows of data on one card
	limitLines = 6000   // lines of data in one document, about 110 pages
	limitCards = 1000   // cards in one document

	// limitNameLines keeps names of very wide characters from filling a page.
	limitNameLines = 12
)
