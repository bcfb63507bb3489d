// Package process builds verifyd and runs it as operators do: as a process of its
// own that is started, asked to stop, or killed.
package process
