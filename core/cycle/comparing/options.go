package comparing

import (
	"github.com/prlx-go/prlx/core/cycle/gate"
	"github.com/prlx-go/prlx/core/cycle/pairs"
	"github.com/prlx-go/prlx/core/fault"
)

// Options tune Compare. The zero value is the default of everything.
type Options struct {
	Alpha       float64 // chance of a false change in one class; 0 means 0.01
	MinChange   float64 // smallest change worth a word, as a share; 0 means 0.03
	Similarity  float64 // least share of common kernels of two classes that are paired; 0 means 0.5
	Gates       []gate.Gate
	Repetitions int // most repetitions of a class that are tested, spread evenly over the run; 0 means 200
}

func (o Options) filled() (Options, error) {
	for _, f := range []struct {
		name     string
		value    *float64
		standard float64
	}{{"alpha", &o.Alpha, pairs.DefaultAlpha}, {"min_change", &o.MinChange, pairs.DefaultMinChange}, {"similarity", &o.Similarity, pairs.DefaultSimilarity}} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if !(*f.value > 0 && *f.value < 1) {
			return o, fault.Usagef("%s is %v", f.name, *f.value).WithHint("it is a share between 0 and 1")
		}
	}
	if o.Repetitions == 0 {
		o.Repetitions = defaultRepetitions
	}
	if o.Repetitions < leastRepetitions {
		return o, fault.Usagef("%d repetitions are too few to compare", o.Repetitions).WithHint("give at least 8")
	}
	return o, nil
}
