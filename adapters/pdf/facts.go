// The run in two columns, and what its end computed.

package pdf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// facts are two columns of captions and values on a panel.
func (l *layout) facts(r report.Print) []block {
	ended := "Ended"
	if r.Run.Status == rules.StatusCompleted {
		ended = "Completed"
	}
	pairs := [][2][2]string{
		{{"Reference", r.Run.ReferenceID}, {"Workflow", r.Workflow.Name}},
		{{"Started", l.time(r.Run.StartedAt)}, {ended, l.time(r.Run.CompletedAt)}},
	}
	if r.ForFile {
		more := [][2]string{{"Rules", fmt.Sprintf("Version %d, hash %s", r.Workflow.Version, shortHash(r.Workflow.VersionHash))}}
		if n := len(r.Judgements); n > 0 {
			last := r.Judgements[n-1]
			more = append(more, [2]string{"Decided by", cmp.Or(last.By, "A client of the API") + ", " + l.time(last.At)})
		}
		if r.Run.Outcome != "" || r.Decision != rules.DecisionNone && r.Run.Status != rules.StatusCompleted {
			status, _ := runStatus(r.Run.Status)
			more = append(more, [2]string{"Outcome of the workflow", r.Run.Outcome}, [2]string{"Status of the run", labels.InWords(strings.ToLower(status))})
		}
		for pair := range slices.Chunk(more, 2) {
			pairs = append(pairs, [2][2]string(append(pair[:len(pair):len(pair)], [2]string{})[:2]))
		}
	}
	return l.panel(pairs, 2.6, 5)
}

// limitEndData is how many fields are printed.
const limitEndData = 40

// endData returns what an end computed as captions and values, two in a row. Beyond the limit it says how many are left out.
func endData(d verification.Data) (pairs [][2][2]string) {
	values := d.Map()
	names := slices.Sorted(maps.Keys(values))
	more := max(0, len(names)-limitEndData)
	for i, name := range names[:len(names)-more] {
		text, ok := values[name].(string)
		if !ok {
			raw, err := json.Marshal(values[name])
			if err != nil {
				continue // it was decoded from JSON
			}
			text = string(raw)
		}
		field := [2]string{labels.InWords(name), text}
		if i%2 == 0 {
			pairs = append(pairs, [2][2]string{field})
		} else {
			pairs[len(pairs)-1][1] = field
		}
	}
	if more > 0 {
		pairs = append(pairs, [2][2]string{{"Not printed here", typeset.Thousands(more) + " more values, which the report of the API has"}})
	}
	return pairs
}
