// Re-screening: a later version of a list has hits for a check of a completed run.

package verification

import "slices"

// maxHits is the maximum number of hits that one event records.
const maxHits = 10

func (d *decision) recordHits(c RecordHits) error {
	s, reached := d.run.Step(c.Node)
	switch {
	case d.run.Ended != StatusCompleted:
		return Conflict("run", "only a completed run can have hits of a later version of a list")
	case !reached || s.Type != NodeCheck:
		return InvalidField("run", "node_id", "the run has made no check at this node")
	}
	known := s.hitIDs(clean(c.List))
	hits := make([]Hit, 0, min(len(c.Hits), maxHits))
	for _, h := range c.Hits {
		h = h.cleaned()
		if len(hits) < maxHits && !slices.Contains(known, h.ID) {
			known, hits = append(known, h.ID), append(hits, h)
		}
	}
	if len(hits) > 0 {
		d.add(HitsFound{Node: c.Node, List: clean(c.List), ListVersion: clean(c.ListVersion), Hits: hits})
	}
	return nil
}

// recorded returns what a run keeps of the result; nil if there is none.
func (r *ScreeningResult) recorded() *Screening {
	if r == nil {
		return nil
	}
	s := &Screening{List: clean(r.List), ListVersion: clean(r.ListVersion)}
	for _, h := range r.Hits {
		s.Hits = append(s.Hits, h.cleaned())
	}
	return s
}

// cleaned returns the hit with texts that every store can keep.
func (h Hit) cleaned() Hit {
	h.ID, h.Name, h.Alias = clean(h.ID), clean(h.Name), clean(h.Alias)
	for _, texts := range []*[]string{&h.BirthDates, &h.Countries, &h.Topics, &h.Reasons} {
		*texts = slices.Clone(*texts)
		for i, text := range *texts {
			(*texts)[i] = clean(text)
		}
	}
	return h
}

// hitIDs returns the ids of the entries of a list that the check or a later screening found.
func (s Step) hitIDs(list string) []string {
	var ids []string
	if s.Screening != nil && s.Screening.List == list {
		for _, h := range s.Screening.Hits {
			ids = append(ids, h.ID)
		}
	}
	for _, found := range s.Rescreened {
		if found.List != list {
			continue
		}
		for _, h := range found.Hits {
			ids = append(ids, h.ID)
		}
	}
	return ids
}
