// Package desk has what the people who work with runs see beside the report: the record and the timeline of a run,
// related runs, and the numbers of a tenant. It stands above the engine; only the console and verifyctl use it.
package desk
