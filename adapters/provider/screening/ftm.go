// Lists in the JSON of FollowTheMoney.

package screening

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// entity is one line of entities.ftm.json.
type entity struct {
	ID         string              `json:"id"`
	Caption    string              `json:"caption"`
	Schema     string              `json:"schema"`
	Properties map[string][]string `json:"properties"`
	Target     *bool               `json:"target"`
}

// lines reads one JSON object a line. It skips entities that the publisher does not
// mark as targets, such as the relatives of people on a list.
func (f Format) lines(r *bufio.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, 0, 1<<16), maxLine)
		for line := 1; in.Scan(); line++ {
			if len(bytes.TrimSpace(in.Bytes())) == 0 {
				continue
			}
			var v entity
			if err := json.Unmarshal(in.Bytes(), &v); err != nil {
				yield(Entry{}, fmt.Errorf("line %d: it is not an entity in JSON: %w", line, err))
				return
			}
			if v.ID == "" || v.Schema == "" {
				yield(Entry{}, fmt.Errorf("line %d: the entity has no id or no schema", line))
				return
			}
			e := v.entry()
			if v.Target != nil && !*v.Target || e.Name == "" {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(Entry{}, err)
		}
	}
}

func (v *entity) entry() Entry {
	e := Entry{ID: v.ID, Name: v.Caption}
	e.setSchema(v.Schema)
	p := v.Properties
	e.Aliases = slices.Concat(p["name"], p["alias"], p["previousName"])
	for _, weak := range p["weakAlias"] {
		if strings.ContainsAny(strings.TrimSpace(weak), " ") { // a single word matches too many
			e.Aliases = append(e.Aliases, weak)
		}
	}
	if e.Name == "" && len(e.Aliases) > 0 {
		e.Name = e.Aliases[0]
	}
	e.BirthDates = dates(p["birthDate"])
	seen := map[string]bool{}
	for _, country := range slices.Concat(p["nationality"], p["citizenship"], p["country"], p["jurisdiction"], p["mainCountry"]) {
		if country = strings.ToLower(country); !seen[country] {
			seen[country] = true
			e.Countries = append(e.Countries, country)
		}
	}
	e.Topics = p["topics"]
	return e
}
