// Package arch checks the layout of the repository: the top level, the imports,
// the names of packages, the comments, and that package verification reads no
// clock. Each check returns problems, as sentences that say what to do. The tests
// run it on a broken sample and on the repository.
package arch
