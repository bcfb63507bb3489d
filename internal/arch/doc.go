// Package arch holds the shape of the repository: what stands at the top level,
// who may import whom, how packages are named, how a file opens, and that the
// rules have no clock. Each check is a function from what was found to sentences
// that say what to do; its tests feed it a broken sample, then the repository.
package arch
