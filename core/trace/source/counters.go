package source

// CounterTrack is a value over time, which viewers draw as a curve.
type CounterTrack struct {
	Name   string
	Points []CounterPoint // in order of time
}

// CounterPoint is the value from an instant on.
type CounterPoint struct{ AtNS, Value int64 }
