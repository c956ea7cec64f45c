package nccltest

import (
	"context"
	"path/filepath"
	"testing"

	work "github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

func TestEveryRankOfATreeReachesItsRoot(t *testing.T) {
	for _, p := range []Plan{{Ranks: 8, PerHost: 1}, {Ranks: 12, PerHost: 2}, {Ranks: 24, PerHost: 4}, {Ranks: 7, PerHost: 2}, {Ranks: 3, PerHost: 1}} {
		for c := range 4 {
			j := &job{p: p}
			roots, children := 0, map[int]int{}
			for r := range p.Ranks {
				steps := 0
				for at := r; at >= 0 && steps <= p.Ranks; at = j.parent(at, c) {
					steps++
				}
				if steps > p.Ranks {
					t.Fatalf("%+v, channel %d: the parents of rank %d are a circle", p, c, r)
				}
				if up := j.parent(r, c); up < 0 {
					roots++
				} else {
					children[up]++
				}
			}
			if roots != 1 || len(j.edges(c)) != 2*(p.Ranks-1) {
				t.Errorf("%+v, channel %d: %d roots, %d edges", p, c, roots, len(j.edges(c)))
			}
			for r, n := range children {
				if n > 3 { // NCCL_MAX_TREE_ARITY
					t.Errorf("%+v, channel %d: rank %d has %d children", p, c, r, n)
				}
			}
		}
	}
}

func TestWhatJobsRecordIsThatOfTheirAlgorithm(t *testing.T) {
	base := Plan{Seed: 5, Ranks: 8, PerHost: 2, Channels: 2, Steps: 8, Ops: 12, Level: 3, ComputeNS: 1e5, Jitter: 0.05}
	read := func(change func(p *Plan)) []*operation.Recording {
		p := base
		change(&p)
		dir := t.TempDir()
		var paths []string
		for i, f := range Simulate(p) {
			paths = append(paths, filepath.Join(dir, string(rune('a'+i))+reading.Ending))
			f.Write(t, paths[i])
		}
		all, _, err := reading.Read(work.New(context.Background(), work.Options{}), paths, reading.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	count := func(all []*operation.Recording) (adopted, proxies, replays, kernels int) {
		for _, r := range all {
			for i := range r.Proxies {
				if p := &r.Proxies[i]; p.Adopted {
					adopted++
				} else {
					proxies++
				}
			}
			for i := range r.Ops {
				if o := &r.Ops[i]; o.Captured && o.API >= 0 && o.StartNS > r.APIs[o.API].StopNS+1e5 {
					replays++
				}
			}
			kernels += len(r.Kernels)
		}
		return adopted, proxies, replays, kernels
	}
	if adopted, proxies, replays, kernels := count(read(func(*Plan) {})); adopted != 0 || replays != 0 || proxies != 12*16 || kernels != 12*16 {
		t.Errorf("rings: %d adopted, %d proxy operations, %d replays, %d kernels; 4 hops between hosts, both ends, two channels", adopted, proxies, replays, kernels)
	}
	if adopted, proxies, _, _ := count(read(func(p *Plan) { p.PXN = true })); adopted == 0 || proxies != 12*16 {
		t.Errorf("PXN: %d of %d proxy operations are of another process", adopted, proxies)
	}
	if _, proxies, _, _ := count(read(func(p *Plan) { p.Algorithm = "TREE" })); proxies != 6*16+6*2*12 { // three edges between hosts, up and down, both ends
		t.Errorf("trees: %d proxy operations", proxies)
	}
	if _, proxies, _, kernels := count(read(func(p *Plan) { p.Algorithm, p.PerHost = "NVLS", 8 })); proxies != 0 || kernels != 12*16 {
		t.Errorf("NVLS: %d proxy operations, %d kernels", proxies, kernels)
	}
	if _, _, replays, _ := count(read(func(p *Plan) { p.Graph = true })); replays != 9*8 { // three functions are captured
		t.Errorf("graphs: %d replays, want all but three of twelve, of eight ranks", replays)
	}
}
