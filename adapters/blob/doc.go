// Package blob stores uploaded documents in memory or in a folder.
//
// A document that cannot be stored completely is not stored at all. One tenant
// can be limited to a share of the space; a store that is full returns
// verification.ErrUnavailable.
package blob
