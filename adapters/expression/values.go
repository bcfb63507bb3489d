// Lists of expressions of any type.

package expression

import (
	"errors"

	"github.com/verifyd/verifyd/verification/workflow"
)

// maxListedValue bounds the bytes of one value of Values.
const maxListedValue = 64 << 10

// values are expressions that are evaluated together; nil where one is not valid.
type values []*expression

// Values compiles expressions of any type. They share their declarations.
func (c *compiler) Values(texts []string, d workflow.Declarations) (_ workflow.Values, problems []error) {
	problems = make([]error, len(texts))
	v := make(values, len(texts))
	n, err := c.node(d)
	for i, text := range texts {
		if err != nil {
			problems[i] = err
			continue
		}
		v[i], problems[i] = n.value(text)
	}
	return v, problems
}

func (n *node) value(text string) (e *expression, err error) {
	defer recovered(&err)
	return n.compile(text)
}

// Evaluate returns the value of each expression, or why it has none. The steps that they read are decoded once.
func (v values) Evaluate(s workflow.Scope) []any {
	all, r := make([]any, len(v)), newReading(&s)
	for i, e := range v {
		if e == nil {
			continue
		}
		value, err := e.plain(r)
		if _, absent := errors.AsType[*absentError](err); err != nil && !absent {
			all[i] = err
		} else if err == nil {
			all[i] = value
		}
	}
	return all
}

func (e *expression) plain(r *reading) (v any, err error) {
	defer recovered(&err)
	return filled{"", 0, e}.plain(&rendering{r, converter{left: maxListedValue}, nil})
}

// Reads returns the paths that an expression reads.
func (v values) Reads(i int) []string {
	if v[i] == nil {
		return nil
	}
	return v[i].readTexts()
}

// Types returns the JSON types that the value of an expression may have.
func (v values) Types(i int) []string {
	if v[i] == nil {
		return nil
	}
	return jsonTypes(v[i].output)
}

// Findings returns the comparisons in an expression that cannot be meant.
func (v values) Findings(i int) []workflow.Finding {
	if v[i] == nil || v[i].judged == nil {
		return nil
	}
	return v[i].judged.found
}
