// The file of settings of a host.

package definitions

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Setting is one value of a file of settings.
type Setting struct {
	Text  string   // unless it is a list
	Items []string // of a list
	Place string   // FILE:LINE
}

// ReadSettings reads a file of settings, YAML or JSON, as settings.schema.json describes it, by the names of its fields. Its
// error is a *Diagnostics; it contains no secret.
func ReadSettings(file string, raw []byte) (map[string]Setting, error) {
	d := &diagnostics{secrets: true}
	root := parse(file, raw, d)
	if root != nil {
		settingsForm().check(file, root, d)
	}
	if err := d.err("settings", file); err != nil {
		return nil, err
	}
	found := map[string]Setting{}
	for _, e := range root.entries {
		s := Setting{Place: fmt.Sprintf("%s:%d", file, e.at.line)}
		if e.value.kind == yaml.SequenceNode {
			for _, item := range e.value.items {
				s.Items = append(s.Items, settingText(item))
			}
		} else {
			s.Text = settingText(e.value)
		}
		found[e.name] = s
	}
	return found, nil
}

func settingText(t *tree) string {
	switch v := t.scalar.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(t.scalar)
}

// SettingsSchema returns the JSON Schema of a file of settings.
func SettingsSchema() []byte {
	raw, _ := schemas.ReadFile("settings.schema.json") // embedded
	return raw
}
