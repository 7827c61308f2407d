//go:build race

package harness_test

// raceDetector says that everything takes ten times as long.
const raceDetector = true
