// The file of settings, and where each setting comes from.

package server

import (
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
)

// Load returns the settings that flags of verifyd serve, the environment and the file of --config set; the others have
// their defaults. Its error has a line for each problem.
func Load(flags []string) (Settings, error) {
	return parse(append([]string{"serve"}, flags...), newEnvironment(os.Environ()), io.Discard)
}

// readConfig reads the file that --config or its variable names, and returns its values by their flags. It is empty without
// such a file.
func (e *environment) readConfig(ctx *kong.Context, p *problems) map[string]definitions.Setting {
	file := cli.ConfigFile(ctx, func(name string) string { return e.vars[name] })
	if file == "" {
		return nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		p.wrap("config", err)
		return nil
	}
	found, err := definitions.ReadSettings(file, raw)
	p.other(err)
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
		p.public = true
	}
	return found
}

// printSettings prints the settings as a file, each with the place that it comes from. Of a secret it prints only that.
func printSettings(w io.Writer, ctx *kong.Context, env *environment, file map[string]definitions.Setting) error {
	given := map[*kong.Flag]bool{}
	for _, step := range ctx.Path {
		given[step.Flag] = step.Flag != nil && !step.Resolved
	}
	for _, flag := range ctx.Selected().Flags {
		name := field(flag.Name)
		if name == "help" || name == "config" {
			continue
		}
		from, at := "default", file[name]
		switch {
		case given[flag]:
			from = "--" + flag.Name
		case env.vars[cli.Variable(flag.Name)] != "":
			from = cli.Variable(flag.Name)
		case at.Place != "":
			from = at.Place
		case !flag.HasDefault && flag.Target.IsZero():
			from = "not set"
		}
		var line string
		switch {
		case from == "not set":
			line = "# " + name + ": not set\n"
		case flag.Tag.Has("secret") && !flag.Target.IsZero():
			line = "# " + name + ": set by " + from + "\n"
		default:
			line = name + ": " + fileValue(flag.Target) + " # " + from + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// fileValue returns the value of a setting as a file has it: JSON, which YAML contains.
func fileValue(v reflect.Value) string {
	value := v.Interface()
	if d, ok := value.(time.Duration); ok {
		short := d.String() // such as 1h0m0s
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(short, zero) {
				short = short[:len(short)-2]
			}
		}
		value = short
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // text, a number, a switch or a list of texts
	return strings.TrimSpace(text.String())
}

// field returns the name of a setting in a file.
func field(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// printSchema prints the schema of a file of settings, which is that of the flags.
func printSchema(w io.Writer) error {
	_, err := w.Write(definitions.SettingsSchema())
	return err
}
