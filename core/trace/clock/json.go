package clock

import (
	"encoding/json"
	"fmt"
)

// mapJSON is a Map as text: what another process needs to map exactly alike.
type mapJSON struct {
	Knots     [][4]int64 `json:"knots"` // X, Y, bound, ns; ps beyond Y
	Before    Drift      `json:"before_ppt"`
	After     Drift      `json:"after_ppt"`
	GrowthPPB int64      `json:"growth_ppb"`
	WanderPPB int64      `json:"wander_ppb"`
}

// MarshalJSON writes the map so that UnmarshalJSON makes an equal one.
func (m *Map) MarshalJSON() ([]byte, error) {
	j := mapJSON{Before: m.before, After: m.after, GrowthPPB: m.growthPPB, WanderPPB: m.wanderPPB, Knots: [][4]int64{}}
	for _, k := range m.knots {
		j.Knots = append(j.Knots, [4]int64{k.X, k.Y, k.BoundNS, int64(k.YPS)})
	}
	return json.Marshal(struct {
		mapJSON
		Flags []int `json:"flags"` // not []Coverage: bytes become base64
	}{j, ints(m.flags)})
}

func ints(flags []Coverage) []int {
	out := make([]int, len(flags))
	for i, f := range flags {
		out[i] = int(f)
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON wrote and checks it as New does.
func (m *Map) UnmarshalJSON(b []byte) error {
	var j struct {
		mapJSON
		Flags []int `json:"flags"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	knots := make([]Knot, len(j.Knots))
	for i, k := range j.Knots {
		knots[i] = Knot{X: k[0], Y: k[1], BoundNS: k[2], YPS: int32(min(max(k[3], -1), psPerNS))}
	}
	made, err := New(knots, WithTails(j.Before, j.After, j.GrowthPPB), WithWander(j.WanderPPB))
	if err != nil {
		return err
	}
	if len(knots) > 0 || len(j.Flags) > 0 {
		if len(j.Flags) != len(knots)+1 {
			return fmt.Errorf("clock: %d flags for %d knots, want one more than knots", len(j.Flags), len(knots))
		}
		for i, f := range j.Flags {
			made.flags[i] = Coverage(f)
		}
	}
	*m = *made
	return nil
}
