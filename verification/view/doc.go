// Package view has the views of runs and workflows beside the report: timelines,
// comparisons of definitions, and the measures that numbers are added up from.
// Its tests are beside the rules whose runs they show.
package view
