// Package cli holds what both programs need on their command lines.
package cli
