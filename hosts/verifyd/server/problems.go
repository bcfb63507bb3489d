// Collects the problems of the settings.

package server

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification/workflow"
)

// problems collects everything that prevents the host from starting, so that the
// operator sees all of it at once. It keeps the first problem of each setting.
type problems struct {
	errs []error
	of   map[string]bool   // the flags with a problem
	at   map[string]string // where the file of settings has the flags that it sets
	// public says that everyone on the machine can read that file.
	public   bool
	warnings []string
}

func (p *problems) add(flag, format string, args ...any) {
	p.wrap(flag, fmt.Errorf(format, args...))
}

// wrap records err as a problem of a flag, unless it is nil.
func (p *problems) wrap(flag string, err error) {
	if err == nil || p.of[flag] {
		return
	}
	if p.of == nil {
		p.of = map[string]bool{}
	}
	p.of[flag] = true
	where := cli.Setting(flag)
	if place := p.at[flag]; place != "" {
		where = place + ": " + field(flag)
	}
	p.errs = append(p.errs, fmt.Errorf("%s: %w", where, err))
}

// other records an error that says where it occurred, unless it is nil.
func (p *problems) other(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// err returns all problems, one per line, or nil.
func (p *problems) err() error { return errors.Join(p.errs...) }

// inFile returns what the file of settings has for a flag, and notes where.
func (p *problems) inFile(flag *kong.Flag, file map[string]definitions.Setting) string {
	s, ok := file[field(flag.Name)]
	if !ok {
		return ""
	}
	if p.at == nil {
		p.at = map[string]string{}
	}
	p.at[flag.Name] = s.Place
	if p.public && flag.Tag.Has("secret") {
		p.warnings = append(p.warnings, s.Place+": everyone on the machine can read "+field(flag.Name)+": chmod 640 the file")
	}
	return cmp.Or(s.Text, kong.JoinEscaped(s.Items, flag.Tag.Sep))
}

// mappers returns the parsers of values for kong. A value that cannot be parsed
// becomes a problem, and the setting keeps its zero value.
func (p *problems) mappers() []kong.Option {
	whole := mapper(p, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }, "must be a whole number, not %q")
	return []kong.Option{
		kong.KindMapper(reflect.String, mapper(p, func(text string) (string, error) { return text, nil }, "")),
		kong.KindMapper(reflect.Float64, mapper(p, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }, "must be a number, not %q")),
		kong.KindMapper(reflect.Int, whole), kong.KindMapper(reflect.Int64, whole),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper(p, time.ParseDuration, "must be a duration such as 500ms, 2s or 5m, not %q")),
		kong.KindMapper(reflect.Bool, switchMapper{mapper(p, strconv.ParseBool, "must be true or false, not %q")}),
	}
}

func mapper[T any](p *problems, parse func(string) (T, error), problem string) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		t, err := ctx.Scan.PopValue(ctx.Value.Name)
		if err != nil {
			return fmt.Errorf("needs a value, as in --%s=VALUE", ctx.Value.Name)
		}
		text := t.String()
		if text == "" && !ctx.Value.HasDefault { // such as "$DIR" of a variable that is not set
			p.add(ctx.Value.Name, "must not be empty")
			return nil
		}
		v, err := parse(text)
		if err != nil {
			p.add(ctx.Value.Name, problem, text)
			return nil //nolint:nilerr // recorded; the other settings are parsed too
		}
		target.Set(reflect.ValueOf(v).Convert(target.Type()))
		return nil
	}
}

// switchMapper is the mapper of a flag with an optional value.
type switchMapper struct{ kong.MapperFunc }

// IsBool reports that the flag needs no value.
func (switchMapper) IsBool() bool { return true }

func (m switchMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	return m.MapperFunc(ctx, target)
}

// suggestion returns the end of a message about an unknown word.
func suggestion(word string, known []string, form func(string) string) string {
	if near := workflow.Nearest(word, known); near != "" {
		return "; did you mean " + form(near) + "?"
	}
	return ""
}
