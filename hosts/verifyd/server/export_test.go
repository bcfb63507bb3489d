// Names for the tests of this package.

package server

import "io"

var (
	Run            = run
	ErrHelp        = errHelp
	DocumentMemory = documentMemory
	LimitMemory    = limitMemory
	MemoryLimit    = memoryLimit
)

const MaxDocumentMemory = maxDocumentMemory

// ParseSettings returns the problems of the settings.
func ParseSettings(args, environ []string, stdout io.Writer) error {
	_, err := parse(args, newEnvironment(environ), stdout)
	return err
}
