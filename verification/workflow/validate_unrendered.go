// Validation of definitions: texts that are shown as they are written.

package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rendered returns the fields of a definition that are expressions or templates, or are no texts for people.
func rendered() []string {
	return []string{
		"with", "data", "when", "until", "for_each", "element", "of", "subject", "input_schema", "pattern", "lifecycle_webhook_url", "value",
	}
}

// unrendered reports ${...} in texts that are shown as they are written: labels, texts, notes and such.
func (v *validator) unrendered() {
	raw, err := json.Marshal(v.def)
	var all map[string]any
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return // what is wrong with it is reported otherwise
	}
	v.unrenderedIn("", all, "nodes", "members", "fields")
}

// unrenderedIn looks into the value at a path. The keys of an object in a field of named are names, and not fields.
func (v *validator) unrenderedIn(at string, value any, named ...string) {
	switch value := value.(type) {
	case string:
		if _, rest, ok := strings.Cut(value, "${"); ok && strings.Contains(rest, "}") {
			v.newProblem(at, "${...} is not filled in here: people read it as it is written")
		}
	case []any:
		for i, item := range value {
			v.unrenderedIn(at+"["+strconv.Itoa(i)+"]", item, named...)
		}
	case map[string]any:
		v.unrenderedFields(at, value, false, named...)
	}
}

func (v *validator) unrenderedFields(at string, fields map[string]any, names bool, named ...string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !names && slices.Contains(rendered(), name) {
			continue
		}
		path := name
		if at != "" {
			path = at + "." + name
		}
		if object, ok := fields[name].(map[string]any); ok {
			v.unrenderedFields(path, object, !names && slices.Contains(named, name), named...)
			continue
		}
		v.unrenderedIn(path, fields[name], named...)
	}
}
