// Package cli holds what both programs share: settings, signing keys, the store
// and the version.
package cli
