// Spans: sets of numbers without much memory.

package engine

import (
	"cmp"
	"slices"
)

// span is the numbers from one to another, which is included.
type span struct{ from, to int64 }

// spans are in order and apart from each other.
type spans []span

// add adds the numbers from one to another.
func (s *spans) add(from, to int64) {
	i, _ := slices.BinarySearchFunc(*s, from, func(a span, n int64) int { return cmp.Compare(a.to+1, n) })
	j := i
	for j < len(*s) && (*s)[j].from <= to+1 {
		from, to = min(from, (*s)[j].from), max(to, (*s)[j].to)
		j++
	}
	*s = slices.Replace(*s, i, j, span{from, to})
}

func (s spans) clone() spans { return slices.Clone(s) }

// end returns the highest number; 0 if there is none.
func (s spans) end() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].to
}

func (s spans) has(n int64) bool {
	return slices.ContainsFunc(s, func(a span) bool { return a.from <= n && n <= a.to })
}

// gaps returns the numbers from 1 to a last one that are not there.
func (s spans) gaps(last int64) (all []span) {
	next := int64(1)
	for _, a := range s {
		if a.from > last {
			break
		}
		if a.from > next {
			all = append(all, span{next, a.from - 1})
		}
		next = a.to + 1
	}
	if next <= last {
		all = append(all, span{next, last})
	}
	return all
}
