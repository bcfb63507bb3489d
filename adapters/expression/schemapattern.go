// The regular expressions inside a schema.

package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaPattern is a regular expression with its number of instructions.
type schemaPattern struct {
	*regexp.Regexp
	size int
}

// sizeOfPattern returns the number of instructions of a regular expression: matching
// takes up to that many steps for each byte of a text.
func sizeOfPattern(re jsonschema.Regexp) int {
	if p, ok := re.(schemaPattern); ok {
		return p.size
	}
	return maxSchemaPattern // from a schema of the library itself
}

// schemaPatterns compiles the regular expressions of one schema.
type schemaPatterns struct {
	size    int // of all of them
	known   map[string]schemaPattern
	refused error // the error of the first pattern that is too large
}

// compile is a jsonschema.RegexpEngine. It keeps what it has compiled, because the library
// compiles a pattern several times.
func (p *schemaPatterns) compile(text string) (jsonschema.Regexp, error) {
	if known, ok := p.known[text]; ok {
		return known, nil
	}
	if p.refused != nil {
		return nil, p.refused
	}
	if utf8.RuneCountInString(text) > maxPattern {
		p.refused = fmt.Errorf("a pattern of the schema has more than %d characters", maxPattern)
		return nil, p.refused
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := instructions(tree)
	if p.size += size; p.size > maxSchemaPattern {
		p.refused = fmt.Errorf("the patterns of the schema have more than %d instructions together: use fewer repetitions", maxSchemaPattern)
		return nil, p.refused
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p.known[text] = schemaPattern{re, size}
	return p.known[text], nil
}

// instructions returns an upper bound of the number of instructions that an expression
// compiles to.
func instructions(re *syntax.Regexp) int {
	n := 2
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpRepeat:
		n *= max(re.Min+1, re.Max)
	}
	return n
}
