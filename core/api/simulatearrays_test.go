package api

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// throughTable loads a pointer from an array and adds one to what it leads to.
const throughTable = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 table)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [table];
	ld.global.u64 %rd2, [%rd1];
	ld.global.u32 %r1, [%rd2];
	add.s32 %r1, %r1, 1;
	st.global.u32 [%rd2], %r1;
	ret;
}
`

func TestALaunchNamesATableOfArrays(t *testing.T) {
	m := newMachine(t, throughTable)
	const base = 1 << 20
	const target = base + 64
	m.SeeMemory(func(address uint64, n int) []byte { return m.memory[address-base:][:n:n] })
	binary.LittleEndian.PutUint64(m.memory, target)
	var table simulateArraysDocument
	m.must("simulate_arrays", map[string]any{"add": []map[string]any{{"name": "far", "address": target, "bytes": 16}}}, &table)
	if table.Table == 0 || table.Arrays != 1 {
		t.Fatalf("the table is %+v", table)
	}
	launch := func(table int64) (status string) {
		var doc struct {
			Status string `json:"status"`
		}
		m.must("simulate_launch", map[string]any{
			"module": m.module, "kernel": "k", "grid": [3]int{1, 1, 1}, "block": [3]int{1, 1, 1}, "table": table,
			"params":      []map[string]any{{"name": "table", "type": "*i64", "bits": base, "allocation": 0}},
			"allocations": []map[string]any{{"name": "table", "address": base, "bytes": 8}},
		}, &doc)
		return doc.Status
	}
	if s := launch(table.Table); s != "clean" || m.memory[64] != 1 {
		t.Errorf("the launch is %s, the number %d", s, m.memory[64])
	}
	if s := launch(0); s == "clean" || m.memory[64] != 1 {
		t.Errorf("without the table it is %s, the number %d", s, m.memory[64])
	}
	m.must("simulate_arrays", map[string]any{"table": table.Table, "remove": []int{target}}, &table)
	if s := launch(table.Table); s == "clean" || table.Arrays != 0 {
		t.Errorf("without the array it is %s, of %d arrays", s, table.Arrays)
	}
	var forgotten simulateForgetDocument
	m.must("simulate_forget", map[string]any{"table": table.Table}, &forgotten)
	reply := m.call("simulate_arrays", map[string]any{"table": table.Table})
	if !forgotten.Forgotten || reply[0] == replyDocument || !strings.Contains(string(reply), "no table of arrays") {
		t.Errorf("forgotten %v; then %s", forgotten.Forgotten, reply)
	}
}

func TestReachIsWhatAddressesDeriveFrom(t *testing.T) {
	const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 1 x, .param .u64 n, .param .u64 y)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [n];
	ld.param.u64 %rd3, [y];
	add.s64 %rd4, %rd1, %rd2;
	ld.global.u32 %r1, [%rd4];
	ld.global.u32 %r2, [%rd1];
	st.global.u32 [%rd3], %r1;
	ret;
}
`
	for text, want := range map[string]simulateReachDocument{
		text:         {Sets: []uint64{0b1, 0b11, 0b100}, Declared: 1},
		throughTable: {Sets: []uint64{0, 1}},
	} {
		m := newMachine(t, text)
		var got simulateReachDocument
		m.must("simulate_reach", map[string]any{"module": m.module, "kernel": "k"}, &got)
		if !slices.Equal(got.Sets, want.Sets) || got.Declared != want.Declared {
			t.Errorf("got %+v, want %+v of\n%s", got, want, text)
		}
		if reply := m.call("simulate_reach", map[string]any{"module": m.module, "kernel": "nobody"}); reply[0] == replyDocument {
			t.Errorf("a kernel that is not there: %s", reply)
		}
	}
}
