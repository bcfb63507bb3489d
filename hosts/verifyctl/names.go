// Files of names to screen.

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// namesIn calls each with every row of a CSV file of names; - is stdin.
func namesIn(s *session, path string, each func(screened) error) error {
	from := s.stdin
	if path != "-" {
		file, err := os.Open(filepath.Clean(path))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it is only read
		from = file
	}
	in := csv.NewReader(from)
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("--names: %w", err)
	}
	at := map[string]int{}
	for i, name := range header {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))] = i
	}
	for _, name := range []string{"kind", "name"} {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("--names: the first line has no column %s", name)
		}
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("--names: %w", err)
		}
		field := func(name string) string {
			if i, ok := at[name]; ok {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		line, _ := in.FieldPos(0)
		kind, err := names.ParseKind(field("kind"))
		if err != nil {
			return fmt.Errorf("--names: line %d: %w", line, err)
		}
		birth := field("birth_date")
		if birth != "" && !possibleBirth(s, kind, birth) {
			return fmt.Errorf("--names: line %d: birth_date %s", line, dateRule)
		}
		countries, err := countryCodes(strings.Split(field("countries"), ";"))
		if err != nil {
			return fmt.Errorf("--names: line %d: countries: %w", line, err)
		}
		id, numbered := field("id"), false
		if id == "" {
			id, numbered = fmt.Sprintf("line-%d", line), true
		}
		err = each(screened{
			ID: id, numbered: numbered, Kind: string(kind), Name: field("name"),
			subject: watchlist.Subject{Kind: kind, Name: field("name"), BirthDate: birth, Countries: countries},
		})
		if err != nil {
			return err
		}
	}
}

// countryCodes returns the codes of countries, as lists have them, from names and codes. A
// text may have several codes, with spaces between them.
func countryCodes(given []string) (codes []string, err error) {
	for _, text := range given {
		texts := []string{text}
		if _, ok := country.Parse(text); !ok {
			texts = strings.Fields(text)
		}
		for _, one := range texts {
			code, ok := country.Parse(one)
			if !ok {
				return nil, fmt.Errorf("%q is not a country: give its name or its code, such as India, IN, IND or 356", one)
			}
			if code != "" {
				codes = append(codes, code)
			}
		}
	}
	return codes, nil
}
