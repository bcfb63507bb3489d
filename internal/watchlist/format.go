// The formats of list files.

package watchlist

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/internal/names"
)

// Format says how to read a list file. The zero Format is recognised by the content.
type Format struct {
	Type FormatType // empty if the content decides
	// Columns are the names of the columns of a file of type CSV, by their use: id, name,
	// kind (person or company), aliases, birth_date, countries, topics, and identifiers by
	// their type: passport, national_id, tax, lei, registration, identifiers (of any
	// type). A use without an entry has the column of the same name. A file must have a
	// column for name; without one for id, the id of an entry is the number of its line.
	// Values of all columns but id, name and kind are separated by semicolons.
	Columns map[string]string
	// Kind is the kind of all entries of a file of type CSV without a column for it;
	// empty if they can be either.
	Kind names.Kind
	// Delimiter separates the columns of a file of type CSV: comma, semicolon, tab or pipe;
	// empty if the first line decides.
	Delimiter string
	// Encoding is the name of the encoding, as in HTML, such as windows-1252; empty for
	// UTF-8, UTF-16 with a byte order mark, or what an XML file declares.
	Encoding string
}

// FormatType is the type of a list file.
type FormatType string

// The types.
const (
	OpenSanctions  FormatType = "opensanctions" // targets.simple.csv
	FollowTheMoney FormatType = "ftm"           // entities.ftm.json: one JSON object a line
	OFAC           FormatType = "ofac"          // sdn.xml, sdn_advanced.xml, SDN_ENHANCED.XML, and the same of the consolidated list
	UN             FormatType = "un"            // consolidated.xml
	EU             FormatType = "eu"            // xmlFullSanctionsList_1_1
	UK             FormatType = "uk"            // UK-Sanctions-List.xml, UK-Sanctions-List.csv, ConList.csv
	CSL            FormatType = "csl"           // consolidated.csv and consolidated.json of the United States
	CSV            FormatType = "csv"           // with named columns
)

// Limits of a list file.
const (
	maxLine    = 16 << 20   // bytes of a JSON line or a CSV row
	maxElement = 4 << 20    // bytes of an XML element of an entry
	maxEntries = 20_000_000 // in a file
	maxValue   = 2000       // bytes of a name, an id or another value
	maxValues  = 10_000     // of one field of an entry
)

// layout is a kind of file that a reader knows.
type layout struct {
	format FormatType
	name   string // for people
	read   func(*listFile) iter.Seq2[Entry, error]
}

// detect returns the layout of a file that begins with these bytes.
func (f Format) detect(begin []byte) (layout, error) {
	text := bytes.TrimSpace(begin)
	switch {
	case len(text) == 0:
		return layout{}, errors.New("the file is empty")
	case text[0] == '<':
		return detectXML(begin)
	case text[0] == '{' && !hasResults(text):
		return layout{FollowTheMoney, "entities.ftm.json", readFTM}, nil
	case text[0] == '{' || text[0] == '[' && isCSL(text):
		return layout{CSL, "consolidated.json", readCSL}, nil
	case text[0] == '[':
		return layout{}, errors.New("the file is one JSON array: a list in JSON has one object a line, as entities.ftm.json of OpenSanctions")
	}
	return f.detectTable(begin)
}

// hasResults reports whether the first line of a text in JSON is not an entity, but an object with results.
func hasResults(text []byte) bool {
	in := jsontext.NewDecoder(bytes.NewReader(text))
	return toResults(in) == nil && in.StackDepth() > 1
}

// isCSL reports whether the first element of an array is an entry of the Consolidated Screening List.
func isCSL(text []byte) bool {
	for _, property := range []string{`"source"`, `"name"`, `"alt_names"`} {
		if !bytes.Contains(text, []byte(property)) {
			return false
		}
	}
	return true
}

// detectXML returns the layout of an XML file by its first element.
func detectXML(begin []byte) (layout, error) {
	in := xml.NewDecoder(bytes.NewReader(begin))
	in.CharsetReader = sameReader
	for {
		token, err := in.RawToken()
		if err != nil {
			return layout{}, errors.New("the file is not XML that can be read: " + err.Error())
		}
		root, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for name, l := range map[string]layout{
			"sdnList":           {OFAC, "sdn.xml", readSDN},
			"Sanctions":         {OFAC, "sdn_advanced.xml", readAdvanced},
			"SanctionsData":     {OFAC, "sdn_advanced.xml", readAdvanced},
			"sanctionsData":     {OFAC, "SDN_ENHANCED.XML", readEnhanced},
			"CONSOLIDATED_LIST": {UN, "consolidated.xml", readUN},
			"export":            {EU, "xmlFullSanctionsList_1_1", readEU},
			"Designations":      {UK, "UK-Sanctions-List.xml", readUK},
		} {
			if root.Name.Local == name {
				return l, nil
			}
		}
		return layout{}, fmt.Errorf("the file is XML whose first element is %.50q: known are the XML files of OFAC, the UN, the EU and the UK", root.Name.Local)
	}
}

// detectTable returns the layout of a CSV file by its first lines.
func (f Format) detectTable(begin []byte) (layout, error) {
	first, rest, _ := strings.Cut(string(begin), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	own := layout{CSV, "csv", readCSV}
	header := func(line string, delimiter rune, columns ...string) bool {
		in := csv.NewReader(strings.NewReader(line))
		in.Comma = delimiter
		fields, err := in.Read()
		return err == nil && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(fields, c) })
	}
	switch {
	case f.Type == CSV || f.Type == "" && (len(f.Columns) > 0 || f.Kind != ""):
		return own, nil
	case f.Type == OpenSanctions || header(first, ',', "id", "schema", "name", "aliases"):
		return layout{OpenSanctions, "targets.simple.csv", readCSV}, nil
	case header(first, ',', "source", "entity_number", "name", "alt_names"):
		return layout{CSL, "consolidated.csv", readCSLTable}, nil
	case header(second, ',', "Unique ID", "Name 6", "Name type") || header(first, ',', "Unique ID", "Name 6", "Name type"):
		return layout{UK, "UK-Sanctions-List.csv", readUKTable}, nil
	case header(second, ',', "Group ID", "Name 6", "Alias Type"):
		return layout{UK, "ConList.csv", readUKTable}, nil
	case header(first, ';', "Entity_LogicalId", "NameAlias_WholeName"):
		return layout{}, errors.New("the file is the CSV of the EU: use its XML file, xmlFullSanctionsList_1_1")
	case strings.Contains(first, ",-0- ,"):
		return layout{}, errors.New("the file is sdn.csv or another CSV of OFAC, which spreads names over several files: use sdn.xml")
	}
	return own, nil
}
