// Lists in the JSON of FollowTheMoney.

package watchlist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
)

// entity is one line of entities.ftm.json.
type entity struct {
	ID         string              `json:"id"`
	Caption    string              `json:"caption"`
	Schema     string              `json:"schema"`
	Properties map[string][]string `json:"properties"`
	Target     *bool               `json:"target"`
	Referents  []string            `json:"referents"` // the ids of the entities that it was merged from
}

// readFTM reads one JSON object a line. It skips entities that the publisher does not
// mark as targets, such as the relatives of people on a list.
func readFTM(f *listFile) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := bufio.NewScanner(f.text)
		in.Buffer(make([]byte, 0, 1<<16), maxLine)
		line := 0
		for f.bound.next(maxLine); in.Scan(); f.bound.next(maxLine) {
			if line++; len(bytes.TrimSpace(in.Bytes())) == 0 {
				continue
			}
			var v entity
			if err := json.Unmarshal(in.Bytes(), &v); err != nil {
				if cut := in.Err(); cut != nil { // the line ends where the file cannot be read
					err = cut
				} else {
					err = fmt.Errorf("it is not an entity in JSON: %w", notCutOff(err))
				}
				yield(Entry{}, fmt.Errorf("line %d: %w", line, err))
				return
			}
			if v.ID == "" || v.Schema == "" {
				yield(Entry{}, fmt.Errorf("line %d: the entity has no id or no schema", line))
				return
			}
			if v.Target != nil && !*v.Target {
				if v.Schema == "Passport" || v.Schema == "Identification" {
					f.leaveOut(otherDocuments, v.ID)
				}
				continue
			}
			if !yield(v.entry(f.filler), nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(Entry{}, fmt.Errorf("line %d: %w", line+1, err))
		}
	}
}

// notCutOff returns an error that does not say that the file is cut off: only a line is.
func notCutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New(err.Error())
	}
	return err
}

func (v *entity) entry(f *filler) Entry {
	e := Entry{ID: v.ID}
	for _, id := range v.Referents {
		if id != v.ID && len(id) <= maxValue && len(e.Formerly) < maxFormerly {
			e.Formerly = append(e.Formerly, withoutControls(id))
		}
	}
	e.setSchema(v.Schema)
	known := map[string]bool{}
	values := func(properties ...string) (all []string) {
		for _, property := range properties {
			known[property] = true
			all = append(all, v.Properties[property]...)
		}
		return all
	}
	for _, name := range append([]string{v.Caption}, values("name", "alias", "previousName")...) {
		f.alias(&e, name, false)
	}
	for _, weak := range values("weakAlias", "abbreviation") {
		f.alias(&e, weak, true)
	}
	for _, date := range values("birthDate") {
		f.born(&e, date, false)
	}
	for _, country := range values("nationality", "citizenship", "country", "jurisdiction", "mainCountry") {
		f.country(&e, country)
	}
	for _, of := range []struct {
		kind       IdentifierType
		properties []string
	}{
		{Passport, []string{"passportNumber"}},
		{NationalID, []string{"idNumber", "socialSecurityNumber"}},
		{TaxNumber, []string{"taxNumber", "vatCode", "innCode"}},
		{LEI, []string{"leiCode"}},
		{Registration, []string{"registrationNumber", "ogrnCode", "okpoCode", "dunsCode", "uscCode", "cikCode", "jibCode"}},
		{OtherDocument, []string{"swiftBic", "bikCode"}},
	} {
		for _, value := range values(of.properties...) {
			f.identifier(&e, of.kind, value)
		}
	}
	e.Topics = values("topics")
	if !e.Person && !e.Company {
		return e
	}
	f.ignoredBut(known, v.Properties, e.ID)
	return e
}
