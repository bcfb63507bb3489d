// Package demo has the files of the built-in demo.
package demo

import "embed"

// Files is the bootstrap file and the files that it names.
//
//go:embed *.yaml *.csv
var Files embed.FS
