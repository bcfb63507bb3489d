// Levels: what may be written to a store that builds of the release before may have to read.

package store

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/verifyd/verifyd/verification"
)

// Level is the newest level of a store that this build reads and writes. A store has level 1 until an operator raises it, which
// cannot be undone: a build that reads less than the level of a store does not open it. What is new since a level, such as an
// event of another kind, a field or a column, is read at any level, and written only if the store has that level.
// See docs/decisions/0106-what-is-new-is-written-above-a-level.md.
const Level = 1

// Leveled is a Store that other builds may read. Ask it before you decide to write what is new since a level. A Store that is
// not Leveled has the newest level.
type Leveled interface {
	// Level returns the level of the store as far as this process knows. It never falls.
	Level() int
}

// ErrLevel is the cause of the ErrConflict of a store whose level is above the one that this build reads.
var ErrLevel = errors.New("the level of the store is too high")

// CheckLevel returns an error with ErrLevel if a store has a higher level than a build reads.
func CheckLevel(level, reads int) error {
	if level <= reads {
		return nil
	}
	return &verification.Error{
		Kind: verification.ErrConflict, Subject: "store", Cause: ErrLevel,
		Message: fmt.Sprintf("it was upgraded to level %d, and this build reads level %d: use a newer release", level, reads),
	}
}

// CheckSince returns an error if something must not be written to a store of a level, because it is new since a later one.
func CheckSince(what string, since, level int) error {
	if since <= level {
		return nil
	}
	return fmt.Errorf("the store has level %d, and the %s may be written since level %d: the decision to write it must ask for the level", level, what, since)
}

// CheckLevel returns an error that names the first event or field which must not be written to a store of a level. A field that is
// new since a level has the tag since.
func (c Commit) CheckLevel(level int) error {
	if level >= Level {
		return nil
	}
	for _, e := range c.Events {
		if err := CheckSince("event "+e.Kind(), max(1, e.About().Since), level); err != nil {
			return err
		}
	}
	return checkFields(reflect.ValueOf(c), level)
}

// checkFields returns an error that names the first field inside a value that is set and must not be written.
func checkFields(v reflect.Value, level int) error {
	switch v.Kind() { // the other kinds have no fields
	case reflect.Pointer, reflect.Interface:
		return checkFields(v.Elem(), level)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := checkFields(v.Index(i), level); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			if err := checkFields(value, level); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Field(i).IsZero() || !f.IsExported() && !f.Anonymous {
				continue
			}
			since, err := strconv.Atoi(cmp.Or(f.Tag.Get("since"), "1"))
			if err == nil {
				err = CheckSince("field "+v.Type().String()+"."+f.Name, since, level)
			}
			if err = cmp.Or(err, checkFields(v.Field(i), level)); err != nil {
				return err
			}
		}
	}
	return nil
}
