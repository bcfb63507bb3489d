// The sample: data of every kind that a page can show, for the tests that visit every
// route.

package console_test

import "strings"

// sample is the value of each parameter of a path, by its name.
type sample map[string]string

// fill returns a path of a pattern, and reports whether every parameter has a value.
func (s sample) fill(pattern string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(pattern, "*"), "/")
	for i, part := range parts {
		name, isParameter := strings.CutPrefix(part, "{")
		if !isParameter {
			continue
		}
		value, ok := s[strings.TrimSuffix(name, "}")]
		if !ok {
			return "", false
		}
		parts[i] = value
	}
	return strings.Join(parts, "/"), true
}

// sample makes the data, as a customer, a vendor and reviewers would, and returns its
// ids. A page with another parameter adds its value here.
func (d *desk) sample() sample {
	d.t.Helper()
	return sample{"token": strings.TrimPrefix(d.link(reviewer("viewer")), d.server.URL+"/console/sign-in/link/")}
}
