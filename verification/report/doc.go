// Package report is a run as a document for people: in which order and under which headings its cards stand, and what a printed
// report shows beside them. What a card says is in package rules, see rules.MakeReport.
//
// [Of] makes what a [Printer] renders.
package report
