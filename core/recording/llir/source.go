package llir

import (
	"strings"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
)

// view shows the values of a function to package observe. A value is its text: "%7", "42", "@global_smem".
type view struct {
	m *module
	f *function
}

// specials are calls that read what a thread is, by what stands behind "@llvm.".
var specials = []string{"nvvm.read.ptx.sreg.", "amdgcn.workgroup.id.", "amdgcn.workitem.id.", "amdgcn.cluster."}

// fromLanes are calls whose result comes from other lanes.
var fromLanes = []string{
	"nvvm.shfl", "nvvm.vote", "nvvm.redux", "nvvm.match", "nvvm.activemask", "amdgcn.ds.bpermute", "amdgcn.ds.swizzle", "amdgcn.update.dpp",
	"amdgcn.readlane", "amdgcn.readfirstlane", "amdgcn.ballot", "amdgcn.permlane", "amdgcn.mov.dpp",
}

// Source is what makes a value.
func (v view) Source(name string) observe.Source[string] {
	at, ok := v.f.defined[name]
	switch {
	case !ok:
		return observe.Source[string]{Origin: site.FromConstant, Name: name}
	case at < 0:
		return observe.Source[string]{Origin: site.FromArgument, Name: argumentName(int(-1 - at))}
	}
	in := &v.f.Insts[at]
	s := observe.Source[string]{Name: in.Op}
	if frames := v.m.chain(in.Debug); len(frames) > 0 && frames[0].Line > 0 {
		s.Where = frames[0]
	}
	switch in.Op {
	case "zext", "sext", "trunc", "bitcast", "freeze", "ptrtoint", "inttoptr", "addrspacecast", "extractvalue", "fpext", "fptrunc":
		if inputs := v.inputs(in); len(inputs) > 0 {
			return observe.Source[string]{Same: &inputs[0]}
		}
	case "phi":
		return v.phi(in, at, s)
	case "load":
		s.Origin, s.Memory = site.FromLoad, int(at)+1
		return s
	case "atomicrmw", "cmpxchg":
		s.Origin, s.Memory = site.FromAtomic, int(at)+1
		return s
	case "call":
		return v.call(in, at, s)
	}
	s.Origin, s.Inputs = site.FromArith, v.inputs(in)
	return s
}

// argumentName stands for an argument until its name is known; see NameArguments.
func argumentName(i int) string { return "%" + itoa(int32(i)) }

// phi comes around a loop where it takes a value that is made behind it.
func (v view) phi(in *inst, at int32, s observe.Source[string]) observe.Source[string] {
	s.Origin, s.Name = site.FromArith, "one of several"
	for _, input := range v.inputs(in) {
		if from, ok := v.f.defined[input]; ok && from >= at {
			s.Origin, s.Name = site.FromCarried, in.Name
			s.Around = append(s.Around, input)
		} else {
			s.Inputs = append(s.Inputs, input)
		}
	}
	return s
}

// call is what a call makes: inline assembly counts by its instructions.
func (v view) call(in *inst, at int32, s observe.Source[string]) observe.Source[string] {
	if text, ok := assembly(in); ok {
		switch {
		case strings.Contains(text, "ld.") || strings.Contains(text, "ldmatrix"):
			s.Origin, s.Name, s.Memory = site.FromLoad, "asm", int(at)+1
			return s
		case strings.Contains(text, "atom."):
			s.Origin, s.Name, s.Memory = site.FromAtomic, "asm", int(at)+1
			return s
		}
		s.Origin, s.Name, s.Inputs = site.FromArith, "asm", v.inputs(in)
		return s
	}
	s.Name = callee(in)
	rest, intrinsic := strings.CutPrefix(s.Name, "llvm.")
	for _, prefix := range specials {
		if after, ok := strings.CutPrefix(rest, prefix); ok && intrinsic {
			s.Origin, s.Name = site.FromProgramID, "%"+after
			return s
		}
	}
	for _, prefix := range fromLanes {
		if intrinsic && strings.HasPrefix(rest, prefix) {
			s.Origin, s.Inputs, s.Lanes = site.FromShuffle, v.inputs(in), lanesOf(rest, v.inputs(in))
			return s
		}
	}
	if s.Origin = site.FromCall; intrinsic {
		s.Origin, s.Inputs = site.FromArith, v.inputs(in)
		if strings.Contains(rest, ".load") || strings.Contains(rest, "ldmatrix") {
			s.Origin, s.Inputs, s.Memory = site.FromLoad, nil, int(at)+1
		}
	}
	return s
}

// lanesOf is from which lanes a shuffle takes its value, where that is a constant: "bfly 16".
func lanesOf(name string, inputs []string) string {
	how, ok := strings.CutPrefix(name, "nvvm.shfl.sync.")
	if how, _, _ = strings.Cut(how, "."); !ok || len(inputs) < 3 {
		return ""
	}
	if n, ok := decimal(inputs[2]); ok {
		return how + " " + itoa(n)
	}
	return ""
}

// assembly is the text of the inline assembly that a call runs.
func assembly(in *inst) (string, bool) {
	if in.Op != "call" {
		return "", false
	}
	open := strings.IndexByte(in.Rest, '"')
	head := in.Rest
	if open >= 0 {
		head = in.Rest[:open]
	}
	if !strings.Contains(head, "asm ") || open < 0 {
		return "", false
	}
	text, _, ok := strings.Cut(in.Rest[open+1:], `"`)
	return text, ok
}

// callee is the name of the function that a call names, "" none.
func callee(in *inst) string { return symbol(in.Rest) }

// arguments are those of a call: "i32 0", "ptr addrspace(1) %29", "i1 %20".
func arguments(in *inst) []string {
	from := 0
	if _, ok := assembly(in); ok { // the texts of the assembly and of its constraints come first
		for range 4 {
			i := strings.IndexByte(in.Rest[from:], '"')
			if i < 0 {
				return nil
			}
			from += i + 1
		}
	} else if from = strings.IndexByte(in.Rest, '@'); from < 0 {
		return nil
	}
	open := strings.IndexByte(in.Rest[from:], '(')
	if open < 0 {
		return nil
	}
	open += from
	shut := closing(in.Rest, open)
	if shut < 0 {
		return nil
	}
	return parts(in.Rest[open+1 : shut])
}

// lastWord is the value of an operand with its type in front.
func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// inputs are the values that an instruction takes.
func (v view) inputs(in *inst) []string {
	var list []string
	switch in.Op {
	case "call":
		for _, a := range arguments(in) {
			list = append(list, lastWord(a))
		}
		return list
	case "phi":
		for rest := in.Rest; ; {
			open := strings.IndexByte(rest, '[')
			if open < 0 {
				return list
			}
			shut := closing(rest, open)
			if shut < 0 {
				return list
			}
			if pair := parts(rest[open+1 : shut]); len(pair) == 2 {
				list = append(list, pair[0])
			}
			rest = rest[shut+1:]
		}
	}
	rest := in.Rest
	if i := strings.Index(rest, " to "); i >= 0 { // of a conversion
		rest = rest[:i]
	}
	for i, p := range parts(rest) {
		if i == 0 && in.Op == "getelementptr" {
			continue
		}
		if w := lastWord(p); w != "" && (i == 0 || in.Op != "extractvalue") {
			list = append(list, w)
		}
	}
	return list
}
