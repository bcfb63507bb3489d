// Settings: flags and the environment variables behind them.

package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return "VERIFYD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Setting names a flag and its variable in a message.
func Setting(flag string) string { return fmt.Sprintf("--%s (%s)", flag, Variable(flag)) }

// Resolver returns a resolver of flags that are not given. value returns an empty
// string for a flag that has no value. White space at the end of a value is left out: a
// mounted secret may end with a line break.
func Resolver(value func(flag *kong.Flag) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		v := value(flag)
		if trimmed := strings.TrimRightFunc(v, unicode.IsSpace); trimmed != "" {
			return trimmed, nil
		}
		if v != "" {
			return v, nil
		}
		return nil, nil //nolint:nilnil // for kong this means no value
	})
}

// ConfigFile returns the file of settings that --config of a command line names, or else its variable.
func ConfigFile(line *kong.Context, getenv func(string) string) string {
	file := getenv(Variable("config"))
	for _, step := range line.Path {
		if step.Flag != nil && step.Flag.Name == "config" {
			file, _ = line.FlagValue(step.Flag).(string)
		}
	}
	return file
}

// DatabaseError adds the setting and the cause to an error of the database; nil
// stays nil.
func DatabaseError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", Setting("database-url"), pgerror.Explain(err))
}
