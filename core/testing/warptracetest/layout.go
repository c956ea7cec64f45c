package warptracetest

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// layout gives every statement its line, inlines calls and numbers the sites.
func (p *Program) layout() {
	p.print()
	n := &numberer{p: p, ids: site.NewAssigner(site.SignExtended), made: map[*stmt]*stmt{}}
	p.kernel.body = n.inline(p.kernel.body, nil, arm{site: -1})
	site.AssignKeys(p.sites)
	for i, from := range n.provenance {
		p.sites[i].Operands = n.operands(from)
	}
	p.table = site.NewTable(p.sites)
}

// printer writes one file.
type printer struct {
	b        strings.Builder
	line     int
	comments *Random // nil: there are none
}

func (p *Program) printer(file uint64) *printer {
	if p.Config.Comments == 0 {
		return &printer{}
	}
	return &printer{comments: NewRandom(p.Config.Comments, file)}
}

func (w *printer) put(depth int, text string) int {
	w.b.WriteString(strings.Repeat("  ", depth))
	w.b.WriteString(text)
	w.b.WriteByte('\n')
	w.line++
	return w.line
}

// print writes the sources and notes each statement's line and column.
func (p *Program) print() {
	h := p.printer(1)
	h.put(0, "// Functions that are inlined into "+p.Name+".")
	h.put(0, "#pragma once")
	h.put(0, "")
	h.put(0, "extern __constant__ int n, stride, cols, tiles, block_size;")
	for _, f := range p.functions[:len(p.functions)-1] {
		h.put(0, "")
		h.put(0, fmt.Sprintf("__device__ __forceinline__ int %s(const int* x, int %s, int %s) {", f.name, f.params[0].name, f.params[1].name))
		h.put(1, "int result;")
		h.block(f, f.body, 1)
		h.put(1, "return result;")
		h.put(0, "}")
	}
	k := p.printer(2)
	k.put(0, `#include "`+helperFile+`"`)
	k.put(0, "")
	k.put(0, `extern "C" __global__ void `+p.Name+"(const int* x, const float* y, int* out, int* counts) {")
	k.put(1, "__shared__ int tile[2 * 1024];")
	k.block(p.kernel, p.kernel.body, 1)
	k.put(0, "}")
	p.files = []File{{p.kernel.file, k.b.String()}, {helperFile, h.b.String()}}
}

func (w *printer) block(f *function, body []*stmt, depth int) {
	for _, s := range body {
		s.function = f
		if w.comments != nil && w.comments.chance(4) {
			w.put(depth, fmt.Sprintf("// Remark %d.", w.comments.Below(100)))
		}
		before, after := s.source()
		s.line = w.put(depth, before+after)
		s.column = 2*depth + len(before) + 1
		switch {
		case s.kind == stSwitch:
			for i, c := range s.cases {
				label := fmt.Sprintf("case %d:", i)
				if i == len(s.cases)-1 {
					label = "default:"
				}
				w.put(depth, label)
				w.block(f, c, depth+1)
				w.put(depth+1, "break;")
			}
			w.put(depth, "}")
		case len(s.other) > 0:
			w.block(f, s.body, depth+1)
			w.put(depth, "} else {")
			w.block(f, s.other, depth+1)
			w.put(depth, "}")
		case s.kind == stIf || s.kind == stFor:
			w.block(f, s.body, depth+1)
			w.put(depth, "}")
		}
	}
}

// source is the statement's line, cut where its column is.
func (s *stmt) source() (before, after string) {
	target := ""
	if s.dst != nil {
		target = s.dst.name + " = "
		if s.declares {
			target = cType(s.dst.typ) + " " + target
		}
	}
	switch s.kind {
	case stAssign:
		if s.garbage {
			return "", cType(s.dst.typ) + " " + s.dst.name + ";"
		}
		return target, s.src.String() + ";"
	case stLoad:
		return target, s.array.name + "[" + s.index.String() + "];"
	case stIf:
		return "if (", s.cond.String() + ") {"
	case stFor:
		return "for (int " + s.dst.name + " = 0; ", s.cond.String() + "; " + s.dst.name + "++) {"
	case stSwitch:
		return "switch (", s.src.String() + ") {"
	case stSelect:
		return target + "(", s.cond.String() + ") ? " + s.array.name + "[" + s.index.String() + "] : 0;"
	case stStore:
		return "", s.array.name + "[" + s.index.String() + "] = " + s.src.String() + ";"
	case stAtomic:
		address := s.index.String()
		if s.own {
			address += " + warp_counters()"
		}
		return target, "atomicAdd(&" + s.array.name + "[" + address + "], " + s.src.String() + ");"
	case stReduce:
		if s.tree {
			return target, "warp_sum_tree(" + s.src.String() + ");"
		}
		return target, "warp_sum(" + s.src.String() + ");"
	case stBarrier:
		return "", "__syncthreads();"
	case stReturn:
		return "", "return;"
	case stBreak:
		return "", "break;"
	case stClock:
		return target, "clock() & 1023;"
	}
	args := []string{"x"}
	for _, a := range s.args {
		args = append(args, a.String())
	}
	return target, s.call.name + "(" + strings.Join(args, ", ") + ");"
}

func cType(t warptrace.ValueType) string {
	switch t {
	case warptrace.TypeF32:
		return "float"
	case warptrace.TypeU32:
		return "unsigned"
	}
	return "int"
}

// numberer makes sites.
type numberer struct {
	p          *Program
	ids        *site.Assigner
	made       map[*stmt]*stmt // from the statement as written to the one inlined here
	provenance [][]prov        // by site
}

func (s *stmt) frame() site.Frame {
	return site.Frame{Function: s.function.symbol, File: s.function.file, Line: uint32(s.line), Column: uint32(s.column)}
}

// inline copies statements with the call sites that they were inlined at.
func (n *numberer) inline(body []*stmt, at []site.Frame, in arm) []*stmt {
	out := make([]*stmt, 0, len(body))
	for _, old := range body {
		s := *old
		n.made[old] = &s
		n.site(&s, at, in)
		s.body = n.inline(old.body, at, arm{s.site, armTaken})
		s.other = n.inline(old.other, at, arm{s.site, armNotTaken})
		s.cases = nil
		for _, c := range old.cases {
			s.cases = append(s.cases, n.inline(c, at, arm{s.site, armActive}))
		}
		if s.call != nil {
			s.inner = n.inline(s.call.body, append([]site.Frame{s.frame()}, at...), in)
		}
		out = append(out, &s)
	}
	return out
}

// site gives a statement a site, when it has one.
func (n *numberer) site(s *stmt, at []site.Frame, in arm) {
	kind, text, ok := s.siteKind()
	if !ok {
		return
	}
	f := s.frame()
	id, ordinal, _ := n.ids.Assign(f, kind)
	made := site.Site{
		ID: id, Kind: kind, Chain: append([]site.Frame{f}, at...), Ordinal: int32(ordinal), Compare: site.NoCompare, Text: text,
	}
	if s.cond != nil {
		made.Compare = s.cond.pred
	}
	s.site = len(n.p.sites)
	n.p.sites = append(n.p.sites, made)
	n.p.arms = append(n.p.arms, in)
	n.provenance = append(n.provenance, n.resolved(s.operands))
	if s.racy {
		n.p.noise = append(n.p.noise, s.site)
	}
}

func (s *stmt) siteKind() (kind site.Kind, text string, ok bool) {
	switch s.kind {
	case stIf, stFor:
		return site.Branch, compares[s.cond.pred].llvm, true
	case stSelect:
		return site.Predicate, compares[s.cond.pred].llvm, true
	case stSwitch:
		return site.Switch, "switch i32", true
	case stLoad:
		return site.Load, "load " + llvmType(s.array.typ), true
	case stStore:
		if s.global {
			return site.GlobalStore, "store " + llvmType(s.src.typ), true
		}
		return site.SharedStore, "store " + llvmType(s.src.typ), true
	case stAtomic:
		return site.Atomic, "atomicrmw add i32", true
	case stReduce:
		return site.Value, "shfl fadd float", true
	case stClock:
		return site.Value, "call i32 clock", true
	case stBarrier:
		return site.Barrier, "barrier", true
	}
	return 0, "", false
}

// resolved replaces statements as written by those inlined here: what an operand comes from stands before it.
func (n *numberer) resolved(in []prov) []prov {
	out := make([]prov, len(in))
	for i, p := range in {
		out[i] = prov{operand: p.operand, inputs: n.resolved(p.inputs)}
		if p.from != nil {
			out[i].from = n.made[p.from]
		}
	}
	return out
}

func (n *numberer) operands(in []prov) []site.Operand {
	var out []site.Operand
	for _, p := range in {
		o := p.operand
		o.Inputs = n.operands(p.inputs)
		if p.from != nil {
			o.Where = p.from.frame()
			if p.from.site >= 0 {
				o.Site = n.p.sites[p.from.site].Key
			}
		}
		out = append(out, o)
	}
	return out
}
