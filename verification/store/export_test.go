package store

import "reflect"

// CheckFields returns an error that names the first field of a value which must not be written to a store of a level.
func CheckFields(v any, level int) error { return checkFields(reflect.ValueOf(v), level) }
