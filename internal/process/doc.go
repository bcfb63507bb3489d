// Package process builds verifyd and runs it as a separate process, as operators
// do.
package process
