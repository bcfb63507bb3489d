// Size estimates of runs and programs in memory.

package rules

// stepOverhead is about the size of a step without its texts and data, in bytes.
const stepOverhead = 400

// receiptSize is about the size of a signal receipt, in bytes.
const receiptSize = 120

// Size estimates the memory of the run, in bytes: its input, the data of its
// steps, and a fixed amount for the rest.
func (r *Run) Size() int {
	n := 2*stepOverhead + len(r.Started.Input) + len(r.Data) + len(r.Started.ReferenceID) + len(r.Started.RedirectURI) + len(r.Started.Zone) + len(r.Verdict.Notes) + len(r.Verdict.Reason) + len(r.Proposal.Notes) + len(r.Proposal.Reason) + len(r.lastNote.Notes) + len(r.Hold.Reason) +
		receiptSize*(len(r.receipts)+len(r.notes.people)+len(r.corrected.people)+len(r.assignments.people)+
			len(r.escalations.people)+len(r.returned.people)+len(r.hits.people))
	for _, c := range r.corrections {
		n += 2*receiptSize + len(c.Field) + len(c.Correction)
	}
	for i := range r.Steps { // a Step is large, and Size is called for each of its results
		s := &r.Steps[i]
		n += stepOverhead + len(s.Data) + len(s.Reason) + len(s.Label) + len(s.Rescreened)*maxHits*receiptSize
		for _, d := range s.HitDecisions {
			n += 2*receiptSize + len(d.Reason)
		}
		for _, round := range s.Rounds {
			n += 3*receiptSize + len(round.Note) + len(round.Earlier)
		}
		n += 6*receiptSize*len(s.Cleared) + 3*receiptSize*maxHits*len(s.EarlierHits)
		if s.Screening != nil {
			n += receiptSize * (1 + 3*len(s.Screening.Hits))
		}
	}
	n += receiptSize * len(r.Unscreened)
	for i := range r.Waits {
		w := &r.Waits[i]
		n += receiptSize*(3+len(w.Callbacks)) + len(w.Redirect) + len(w.Handle) + len(w.Uploads)*stepOverhead
	}
	for _, g := range r.Groups {
		n += stepOverhead + len(g.Items) + receiptSize*len(g.screens)
	}
	n += receiptSize * len(r.rejections.Runs)
	n += len(r.Documents) * stepOverhead
	return n
}
