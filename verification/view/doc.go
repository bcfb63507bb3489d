// Package view has the views of runs and workflows beside the report: timelines, recorded
// data, comparisons of definitions, and the measures that numbers are added up from.
// The tests of what a run shows are beside the rules of runs.
package view
