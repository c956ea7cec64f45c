package warptrace

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// A block of zeros, as a crash of a machine leaves, is noticed in files that have no checksums: among events, and over the head of a warp.
func TestZerosInFilesOfV1AreDamage(t *testing.T) {
	warps := someWarps(rand.New(rand.NewPCG(5, 6)), 6, 40)
	raw := writeV1(t, v1TestHeader(6, 40), false, warps)
	stride := (len(raw) - v1Header) / 6
	slot, events := -1, 0
	for i := range 6 {
		if n := int(v1CountersOf(raw[v1Header+i*stride:]).events); n > events {
			slot, events = i, n
		}
	}
	if events < 8 {
		t.Fatalf("the fullest warp has %d events", events)
	}
	head := v1Header + slot*stride
	for name, hole := range map[string][2]int{
		"events":            {head + v1WarpHead + 3*v1EventBytes + 5, 64},
		"the head":          {head, v1WarpHead},
		"head and an event": {head, v1WarpHead + v1EventBytes},
	} {
		damaged := append([]byte(nil), raw...)
		clear(damaged[hole[0]:][:hole[1]])
		_, err := Walk(context.Background(), openV2Bytes(t, raw), openV2Bytes(t, damaged), WalkOptions{Values: true}, func(*Pair) error { return nil })
		if !fault.Is(err, fault.Format) {
			t.Errorf("zeros over %s: walking got %v", name, err)
		}
		if name != "events" {
			continue
		}
		if _, err := Convert(nil, openV2Bytes(t, damaged), discard{}, 2, ConvertOptions{}); !fault.Is(err, fault.Format) {
			t.Errorf("zeros over %s: converting got %v", name, err)
		}
	}
	if _, err := Walk(context.Background(), openV2Bytes(t, raw), openV2Bytes(t, raw), WalkOptions{All: true}, func(*Pair) error { return nil }); err != nil {
		t.Errorf("the whole recording: %v", err)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
