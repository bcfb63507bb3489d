// Re-screening: a later version of a list has hits for a check of a completed run.

package verification

import (
	"encoding/json"
	"slices"
)

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
	known := s.hitIDs()
	hits := make([]Hit, 0, min(len(c.Hits), maxHits))
	for _, h := range c.Hits {
		h.ID, h.Name = clean(h.ID), clean(h.Name)
		if len(hits) < maxHits && !slices.Contains(known, h.ID) {
			known, hits = append(known, h.ID), append(hits, h)
		}
	}
	if len(hits) > 0 {
		d.add(HitsFound{Node: c.Node, List: clean(c.List), ListVersion: clean(c.ListVersion), Hits: hits})
	}
	return nil
}

// hitIDs returns the ids of the entries that the step is known to match: those in its
// data, and those that were found later.
func (s Step) hitIDs() []string {
	var data struct {
		Hits []struct {
			ID string `json:"id"`
		} `json:"hits"`
	}
	_ = json.Unmarshal(s.Data, &data) // other data has no hits
	var ids []string
	for _, h := range data.Hits {
		ids = append(ids, h.ID)
	}
	for _, found := range s.Rescreened {
		for _, h := range found.Hits {
			ids = append(ids, h.ID)
		}
	}
	return ids
}
