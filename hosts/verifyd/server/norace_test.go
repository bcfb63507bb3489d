//go:build !race

// That the tests run without the race detector.

package server_test

const raceDetector = false
