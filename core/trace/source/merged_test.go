package source

import (
	"slices"
	"testing"
)

func processes(idAndName ...string) []*Process {
	var out []*Process
	for i := 0; i < len(idAndName); i += 2 {
		out = append(out, &Process{TextID: idAndName[i], Name: idAndName[i+1]})
	}
	return out
}

// TestRanksOfMergedTraces: tools that merge ranks say which process is whose; what names fewer than two ranks is no merged trace.
func TestRanksOfMergedTraces(t *testing.T) {
	for name, c := range map[string]struct {
		layout []*Process
		ids    []string
		of     []int
	}{
		"TraceLens":      {processes("2", "RANK 0 - GPU", "7", "RANK 0 - CPU", "1000000003", "RANK 10 - GPU", "9", "RANK 2 - CPU", `"Traces"`, ""), []string{"rank0", "rank2", "rank10"}, []int{0, 0, 2, 1, -1}},
		"SGLang":         {processes(`"[TP01-DP00] 7"`, "python", `"[TP00-DP00] 7"`, "python", `"[TP00-DP00] 0"`, "GPU"), []string{"TP00-DP00", "TP01-DP00"}, []int{1, 0, 0}},
		"one rank":       {processes("2", "RANK 0 - GPU", "7", "RANK 0 - CPU"), nil, nil},
		"other names":    {processes("2", "ranking service", "7", "python rank 1", "8", "rank1x"), nil, nil},
		"far too many":   {processes("2", "RANK 99999999999 - GPU", "7", "RANK 0 - CPU"), nil, nil},
		"labels of none": {processes(`"[a] 1"`, "", `"[b] 2"`, ""), nil, nil},
		"no process":     {nil, nil, nil},
	} {
		m := MergedRanks(c.layout)
		if m == nil {
			if c.ids != nil {
				t.Errorf("%s: no ranks were found, want %v", name, c.ids)
			}
			continue
		}
		if !slices.Equal(m.IDs(), c.ids) || !slices.Equal(m.RankOf, c.of) {
			t.Errorf("%s: ranks %v of %v, want %v of %v", name, m.IDs(), m.RankOf, c.ids, c.of)
		}
	}
}
