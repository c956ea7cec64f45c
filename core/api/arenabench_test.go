package api

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// BenchmarkCollect is what a launch that somebody else made costs once its arena is here.
func BenchmarkCollect(b *testing.B) {
	m, table := decides(b)
	asked := arenaOfDecides(table, map[string]any{})
	var prepared prepareArenaDocument
	m.must("arena_prepare", asked, &prepared)
	var ran simulation.Document
	m.must("simulate_launch", m.launchDecides(nil), &ran)
	folder := b.TempDir()
	var done recorder.Recorded
	for i := 0; b.Loop(); i++ {
		asked["record"].(map[string]any)["path"] = filepath.Join(folder, fmt.Sprintf("%d.prlx", i))
		m.must("arena_collect", asked, &done)
	}
}
