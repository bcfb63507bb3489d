// Package clock implements verification.Clock. System returns the clock of the
// machine. Manual is a clock that stands still until Advance is called.
package clock
