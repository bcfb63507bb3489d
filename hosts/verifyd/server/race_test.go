//go:build race

// That the tests run with the race detector.

package server_test

const raceDetector = true
