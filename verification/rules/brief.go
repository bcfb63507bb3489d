// Briefs: whom a run in the review queue is about, and what does not match.

package rules

// Differing is a fact on which a source differs from what the customer said.
type Differing struct {
	Fact   string `json:"fact"`             // such as Name
	Source string `json:"source,omitempty"` // the label of the step; empty for the input
	Value  string `json:"value"`
}

// The bounds of what the review queue says of a run.
const (
	maxSubjectName   = 200 // characters
	maxDiffering     = 3
	maxDifferingText = 100 // characters
)

// WithBrief returns the review with the name of the subject, cut after 200 characters, and at
// most 3 facts that differ, whose texts are cut after 100 characters.
func (v Review) WithBrief(s Subject, differing []Differing) Review {
	v.Subject, v.Differing = shortened(s.Name, maxSubjectName), nil
	for _, d := range differing[:min(len(differing), maxDiffering)] {
		v.Differing = append(v.Differing, Differing{
			shortened(d.Fact, maxDifferingText), shortened(d.Source, maxDifferingText), shortened(d.Value, maxDifferingText),
		})
	}
	return v
}

// Subject is whom a run is about. A field that is not given is empty.
type Subject struct {
	Name, BirthDate, Number string
	Portrait                string // the id of a document of the run that is an image
}
