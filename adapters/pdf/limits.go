// How much of a report is printed, so that no report costs more than so much.

package pdf

// What goes beyond a limit is cut, and the page says so. The limits of text
// count characters.
const (
	limitValue = 2000 // a value, a reason, a message
	limitName  = 300  // a label, a name, an id, the key of a value
	limitRows  = 500  // rows of data on one card
	limitLines = 6000 // lines of data in one document, about 110 pages
	limitCards = 1000 // cards in one document

	// Names of letters as wide as words must not fill a page.
	limitNameLines = 12
)
