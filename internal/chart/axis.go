// Axes: ticks at round values, for counts and durations.

package chart

import "math"

// Axis is the axis of the values. It begins at 0 and ends at its last tick.
type Axis struct {
	Ticks []Tick // ascending, the first at 0
}

// Tick is a value with a label on an axis.
type Tick struct {
	Value float64
	Label string
}

// top returns the value at the end of the axis, which is above 0.
func (a Axis) top() float64 {
	if n := len(a.Ticks); n > 0 && a.Ticks[n-1].Value > 0 {
		return a.Ticks[n-1].Value
	}
	return 1
}

// share returns the position of a value on the axis: 0 at its beginning, 1 at its
// end. Values beyond the axis are at its ends.
func (a Axis) share(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v/a.top(), 0), 1)
}

// maxSteps is the largest number of steps of an axis.
const maxSteps = 5

// maxValue is the largest value that an axis is made to reach. Larger values are at its
// end.
const maxValue = 1e15

// Counts returns an axis of whole numbers that reaches highest, or maxValue if that is
// less.
func Counts(highest float64, label func(float64) string) Axis {
	return newAxis(highest, 1, nil, label)
}

// Durations returns an axis of seconds that reaches highest, or maxValue if that is less.
// Its steps are round as seconds, minutes, hours or days.
func Durations(highest float64, label func(seconds float64) string) Axis {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	return newAxis(highest, day, []float64{
		0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
		minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour,
	}, label)
}

// newAxis returns the axis with the smallest step that needs at most maxSteps steps. A
// step is one of the list, or else 1, 2 or 5 times a power of ten, in units.
func newAxis(highest, unit float64, steps []float64, label func(float64) string) Axis {
	if !(highest > 0) { // also NaN
		highest = 0
	}
	highest = min(highest, maxValue)
	fits := func(step float64) bool { return highest <= step*maxSteps }
	step := 0.0
	for _, s := range steps {
		if fits(s) {
			step = s
			break
		}
	}
	for power := unit; step == 0; power *= 10 { // ends, because highest has a limit
		for _, digit := range []float64{1, 2, 5} {
			if fits(digit * power) {
				step = digit * power
				break
			}
		}
	}
	var a Axis
	for i := range max(int(math.Ceil(highest/step)), 1) + 1 {
		v := float64(i) * step
		a.Ticks = append(a.Ticks, Tick{Value: v, Label: label(v)})
	}
	return a
}
