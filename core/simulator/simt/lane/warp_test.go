package lane

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// refShuffle is the text of the PTX ISA for shfl: where a lane reads, and its predicate.
func refShuffle(kind string, lane, b, c int) (int, bool) {
	seg, clamp := c>>8&31, c&31
	b &= 31
	most := lane&seg | clamp&^seg
	least := lane & seg
	switch kind {
	case "up":
		if j := lane - b; j >= most {
			return j, true
		}
	case "down":
		if j := lane + b; j <= most {
			return j, true
		}
	case "bfly":
		if j := lane ^ b; j <= most {
			return j, true
		}
	case "idx":
		if j := least | b&^seg; j <= most {
			return j, true
		}
	}
	return lane, false
}

func TestShufflesFollowTheISA(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 1))
	for _, kind := range []string{"up", "down", "bfly", "idx"} {
		segments := []int{0x1f, 0, 0x181f, 0x1800, 0x1c1f, 0x1c03, 0x101f, 0x1f00, 0x1f1f}
		for _, c := range segments {
			for b := range 33 {
				for _, text := range []string{
					fmt.Sprintf("shfl.sync.%s.b32 %%r0|%%p1, %%r1, %d, %d, -1;", kind, b, c),
					fmt.Sprintf("shfl.sync.%s.b32 %%r0, %%r1, %d, %d, -1;", kind, b, c),
					fmt.Sprintf("shfl.sync.%s.b32 %%r0|%%p1, %%r1, %%r2, %%r3, -1;", kind),
				} {
					v := newBench(t, text)
					var values [Lanes]uint64
					for l := range Lanes {
						values[l] = rng.Uint64() & 0xffffffff
						v.put(v.in[0], l, values[l])
						v.put(v.in[1], l, uint64(b))
						v.put(v.in[2], l, uint64(c))
					}
					if err := v.run(); err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					for l := range Lanes {
						from, in := refShuffle(kind, l, b, c)
						if got := v.get(v.out[0], l); got != values[from] {
							t.Fatalf("%s: lane %d has %x, want that of lane %d", text, l, got, from)
						}
						if len(v.out) > 1 && (v.get(v.out[1], l) == 1) != in {
							t.Fatalf("%s: the predicate of lane %d is wrong", text, l)
						}
					}
				}
			}
		}
	}
}

func TestShufflesNameLanesThatAreNotThere(t *testing.T) {
	v := newBench(t, "shfl.sync.bfly.b32 %r0|%p1, %r1, 16, 31, -1;")
	for l := range Lanes {
		v.put(v.in[0], l, uint64(l))
		v.put(v.out[0], l, 99)
	}
	err := v.form.Warp(&v.regs, &v.ops, 0xffff)
	if err == nil || !strings.Contains(err.Error(), "ffff0000") {
		t.Errorf("a shuffle with absent lanes says %v", err)
	}
	if v.get(v.out[0], 20) != 99 {
		t.Error("a lane that is not active was written")
	}
	v = newBench(t, "shfl.sync.up.b32 %r0, %r1, 1, 0, 255;")
	if err := v.form.Warp(&v.regs, &v.ops, 0xff); err != nil {
		t.Errorf("eight lanes that name themselves: %v", err)
	}
	if err := v.form.Warp(&v.regs, &v.ops, 0x1ff); err == nil {
		t.Error("a lane outside of its own mask is no error")
	}
}

// collective runs an operation with random lanes active, each of two groups with a mask of its own.
func collective(t *testing.T, text string, check func(v *bench, lanes uint32, before *bench)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(51, 2))
	for n := range 200 {
		v := newBench(t, text)
		active := rng.Uint32() | 1
		first := rng.Uint32() & active
		groups := []uint32{first, active &^ first}
		if n%3 == 0 {
			groups = []uint32{active, 0}
		}
		for l := range Lanes {
			switch x := rng.Uint64(); n % 4 {
			case 0:
				v.put(v.in[0], l, x)
			case 1:
				v.put(v.in[0], l, x&1)
			default:
				v.put(v.in[0], l, 7|uint64(n)<<31)
			}
			for _, g := range groups {
				if g>>l&1 != 0 {
					v.put(v.in[1], l, uint64(g))
				}
			}
			for _, o := range v.out {
				v.put(o, l, 0x5a)
			}
		}
		before := &bench{out: v.out, in: v.in, regs: Regs{R32: slices.Clone(v.regs.R32), R64: slices.Clone(v.regs.R64), P: slices.Clone(v.regs.P)}}
		if err := v.form.Warp(&v.regs, &v.ops, active); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for l := range Lanes {
			for _, o := range v.out {
				if active>>l&1 == 0 && v.get(o, l) != before.get(o, l) {
					t.Fatalf("%s wrote lane %d, which is not active", text, l)
				}
			}
		}
		for _, g := range groups {
			if g != 0 {
				check(v, g, before)
			}
		}
	}
}

func members(lanes uint32) (list []int) {
	for l := range Lanes {
		if lanes>>l&1 != 0 {
			list = append(list, l)
		}
	}
	return list
}

func TestVotesCountTheLanesOfTheirMask(t *testing.T) {
	for _, kind := range []string{"all", "any", "uni", "ballot"} {
		text := "vote.sync." + kind + ".pred %p0, %p1, %r1;"
		if kind == "ballot" {
			text = "vote.sync.ballot.b32 %r0, %p1, %r1;"
		}
		collective(t, text, func(v *bench, lanes uint32, before *bench) {
			yes, ballot := 0, uint64(0)
			for _, l := range members(lanes) {
				p := before.get(v.in[0], l)
				yes += int(p)
				ballot |= p << l
			}
			n := len(members(lanes))
			want := map[string]bool{"all": yes == n, "any": yes > 0, "uni": yes == 0 || yes == n}[kind]
			for _, l := range members(lanes) {
				got := v.get(v.out[0], l)
				if kind == "ballot" && got != ballot || kind != "ballot" && (got == 1) != want {
					t.Fatalf("%s of lanes %08x: lane %d has %x", text, lanes, l, got)
				}
			}
		})
	}
}

func TestMatchFindsEqualLanes(t *testing.T) {
	for _, text := range []string{
		"match.sync.any.b32 %r0, %r1, %r2;", "match.sync.any.b64 %r0, %d1, %r2;", "match.sync.all.b32 %r0|%p0, %r1, %r2;", "match.sync.all.b64 %r0|%p0, %d1, %r2;",
	} {
		collective(t, text, func(v *bench, lanes uint32, before *bench) {
			list := members(lanes)
			for _, l := range list {
				same := uint64(0)
				for _, m := range list {
					if before.get(v.in[0], l) == before.get(v.in[0], m) {
						same |= 1 << m
					}
				}
				if strings.Contains(text, "all") {
					if same != uint64(lanes) {
						same = 0
					}
					if (v.get(v.out[1], l) == 1) != (same != 0) {
						t.Fatalf("%s: the predicate of lane %d is wrong", text, l)
					}
				}
				if got := v.get(v.out[0], l); got != same {
					t.Fatalf("%s: lane %d has %x, want %x", text, l, got, same)
				}
			}
		})
	}
}

func TestReductionsAreThoseOfTheirLanes(t *testing.T) {
	for _, text := range []string{"add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"} {
		collective(t, "redux.sync."+text+" %r0, %r1, %r2;", func(v *bench, lanes uint32, before *bench) {
			var list []uint32
			for _, l := range members(lanes) {
				list = append(list, uint32(before.get(v.in[0], l)))
			}
			slices.SortFunc(list, func(x, y uint32) int { // signed order for s32
				if strings.HasSuffix(text, "s32") {
					return int(int32(x)) - int(int32(y))
				}
				return int(x) - int(y)
			})
			var want uint32
			switch text[:3] {
			case "min":
				want = list[0]
			case "max":
				want = list[len(list)-1]
			case "add":
				for _, x := range list {
					want += x
				}
			default:
				for b := range 32 {
					ones := 0
					for _, x := range list {
						ones += int(x >> b & 1)
					}
					if text[:3] == "and" && ones == len(list) || text[:2] == "or" && ones > 0 || text[:3] == "xor" && ones%2 == 1 {
						want |= 1 << b
					}
				}
			}
			for _, l := range members(lanes) {
				if got := uint32(v.get(v.out[0], l)); got != want {
					t.Fatalf("redux.sync.%s of %x is %x, want %x", text, list, got, want)
				}
			}
		})
	}
}

func TestActiveLanesAndTheirLeader(t *testing.T) {
	v := newBench(t, "activemask.b32 %r0;")
	if err := v.form.Warp(&v.regs, &v.ops, 0xf0); err != nil || v.get(v.out[0], 5) != 0xf0 || v.get(v.out[0], 0) != 0 {
		t.Errorf("activemask is %x, %v", v.get(v.out[0], 5), err)
	}
	v = newBench(t, "elect.sync %r0|%p0, 240;")
	if err := v.form.Warp(&v.regs, &v.ops, 0xf0); err != nil || v.get(v.out[0], 6) != 4 || v.regs.P[v.out[1].at] != 1<<4 {
		t.Errorf("elect.sync gives %d and %x, %v", v.get(v.out[0], 6), v.regs.P[v.out[1].at], err)
	}
}
