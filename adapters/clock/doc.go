// Package clock tells the time: System is the clock on the wall, Manual one that
// stands still until somebody turns it.
package clock
