// Package labels says how the data of runs is shown to people, in the console and in the report: its labels, values,
// hits, and the direction of its texts.
package labels
