package tape

import "testing"

// TestWhoMakesNaN asks of operators whether they made what is not finite, or were given it.
func TestWhoMakesNaN(t *testing.T) {
	type counts struct{ nan, inf int64 }
	for name, c := range map[string]struct {
		in, out        counts
		scalars        string
		makes, carries bool
	}{
		"finite":                       {counts{}, counts{}, "", false, false},
		"a logarithm":                  {counts{}, counts{nan: 3}, "", true, false},
		"an overflow":                  {counts{}, counts{inf: 1}, "alpha=2", true, false},
		"a mask":                       {counts{}, counts{inf: 9}, "value=-inf", false, true},
		"a mask with another argument": {counts{}, counts{inf: 9}, "dim=1, value=inf", false, true},
		"a softmax of masked rows":     {counts{inf: 4}, counts{nan: 4}, "dim=-1", true, false},
		"a sum of infinite elements":   {counts{inf: 4}, counts{inf: 1}, "", false, true},
		"a product of NaN":             {counts{nan: 1}, counts{nan: 7, inf: 2}, "", false, true},
		"a mask that is NaN as well":   {counts{}, counts{nan: 1, inf: 1}, "value=-inf", true, false},
		"a name like infinity":         {counts{}, counts{inf: 1}, "mode=info", true, false},
	} {
		o := &Operator{
			Place:   &Place{Slots: []Slot{{Role: Input}, {Role: Output}}},
			Scalars: c.scalars,
			Values:  []Value{{NaN: c.in.nan, Inf: c.in.inf}, {NaN: c.out.nan, Inf: c.out.inf}},
		}
		if makes, carries := o.Makes(); makes != c.makes || carries != c.carries {
			t.Errorf("%s: makes %v, carries %v, want %v and %v", name, makes, carries, c.makes, c.carries)
		}
	}
}
