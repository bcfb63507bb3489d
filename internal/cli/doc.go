// Package cli is what the command lines of both programs share.
package cli
