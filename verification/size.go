// How much memory a run takes.

package verification

// stepOverhead is about what a step takes besides its texts and data, in bytes.
const stepOverhead = 400

// receiptSize is about what the receipt of a signal takes, in bytes.
const receiptSize = 120

// Size estimates the memory that the run holds, in bytes: what it was started
// with, what its steps brought, and a fixed amount for the rest.
func (r Run) Size() int {
	n := 2*stepOverhead + len(r.Started.Input) + len(r.Started.ReferenceID) + len(r.Started.RedirectURI) + len(r.Verdict.Notes) +
		receiptSize*len(r.receipts)
	for _, s := range r.Steps {
		n += stepOverhead + len(s.Data) + len(s.Reason) + len(s.Label)
	}
	n += (len(r.Wait.Uploads) + len(r.Documents)) * stepOverhead
	return n
}
