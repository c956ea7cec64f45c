package lane

// wideLoops are loops with vectors of 256 bits, by the keys of the loops in Go that they take the place of; of those without a key by one
// of their own.
var wideLoops = map[string]Func{
	"add.f32":          addF32Wide,
	"add.ftz.f32":      addFtzF32Wide,
	"add.u32":          addU32Wide,
	"add.u64":          addU64Wide,
	"and.u32":          andU32Wide,
	"and.u64":          andU64Wide,
	"cvt.f32.f16":      cvtF32F16Wide,
	"cvt.rn.f16.f32":   cvtRnF16F32Wide,
	"cvt.rn.f16x2.f32": cvtRnF16x2F32Wide,
	"cvt.s64.s32":      cvtS64S32Wide,
	"cvt.u32.u64":      cvtU32U64Wide,
	"cvt.u64.u32":      cvtU64U32Wide,
	"fma.f32":          fmaF32Wide,
	"fma.ftz.f32":      fmaFtzF32Wide,
	"mad.lo.u32":       madLoU32Wide,
	"mad.wide.s32":     madWideS32Wide,
	"mad.wide.u32":     madWideU32Wide,
	"max.s32":          maxS32Wide,
	"max.u32":          maxU32Wide,
	"min.s32":          minS32Wide,
	"min.u32":          minU32Wide,
	"mov.32":           mov32Wide,
	"mov.64":           mov64Wide,
	"mul.f32":          mulF32Wide,
	"mul.ftz.f32":      mulFtzF32Wide,
	"mul.lo.u32":       mulLoU32Wide,
	"mul.wide.s32":     mulWideS32Wide,
	"mul.wide.u32":     mulWideU32Wide,
	"neg.u32":          negU32Wide,
	"not.u32":          notU32Wide,
	"or.u32":           orU32Wide,
	"or.u64":           orU64Wide,
	"pack.16":          pack16Wide,
	"selp.32":          selp32Wide,
	"selp.64":          selp64Wide,
	"shl.u32":          shlU32Wide,
	"shl.u64":          shlU64Wide,
	"shr.s32":          shrS32Wide,
	"shr.u32":          shrU32Wide,
	"shr.u64":          shrU64Wide,
	"sub.f32":          subF32Wide,
	"sub.ftz.f32":      subFtzF32Wide,
	"sub.u32":          subU32Wide,
	"sub.u64":          subU64Wide,
	"unpack.16":        unpack16Wide,
	"xor.u32":          xorU32Wide,
	"xor.u64":          xorU64Wide,
}

// wideCompares are comparisons of the same kind.
var wideCompares = map[string]compareFunc{
	"setp.eq.f32":  setpEqF32Wide,
	"setp.eq.u32":  setpEqU32Wide,
	"setp.equ.f32": setpEquF32Wide,
	"setp.ge.f32":  setpGeF32Wide,
	"setp.ge.s32":  setpGeS32Wide,
	"setp.ge.u32":  setpGeU32Wide,
	"setp.geu.f32": setpGeuF32Wide,
	"setp.gt.f32":  setpGtF32Wide,
	"setp.gt.s32":  setpGtS32Wide,
	"setp.gt.u32":  setpGtU32Wide,
	"setp.gtu.f32": setpGtuF32Wide,
	"setp.le.f32":  setpLeF32Wide,
	"setp.le.s32":  setpLeS32Wide,
	"setp.le.u32":  setpLeU32Wide,
	"setp.leu.f32": setpLeuF32Wide,
	"setp.lt.f32":  setpLtF32Wide,
	"setp.lt.s32":  setpLtS32Wide,
	"setp.lt.u32":  setpLtU32Wide,
	"setp.ltu.f32": setpLtuF32Wide,
	"setp.nan.f32": setpNanF32Wide,
	"setp.ne.f32":  setpNeF32Wide,
	"setp.ne.u32":  setpNeU32Wide,
	"setp.neu.f32": setpNeuF32Wide,
	"setp.num.f32": setpNumF32Wide,
}

//go:noescape
func addU32Wide(r *Regs, o *Operands)

//go:noescape
func subU32Wide(r *Regs, o *Operands)

//go:noescape
func andU32Wide(r *Regs, o *Operands)

//go:noescape
func orU32Wide(r *Regs, o *Operands)

//go:noescape
func xorU32Wide(r *Regs, o *Operands)

//go:noescape
func mulLoU32Wide(r *Regs, o *Operands)

//go:noescape
func minS32Wide(r *Regs, o *Operands)

//go:noescape
func maxS32Wide(r *Regs, o *Operands)

//go:noescape
func minU32Wide(r *Regs, o *Operands)

//go:noescape
func maxU32Wide(r *Regs, o *Operands)

//go:noescape
func shlU32Wide(r *Regs, o *Operands)

//go:noescape
func shrU32Wide(r *Regs, o *Operands)

//go:noescape
func shrS32Wide(r *Regs, o *Operands)

//go:noescape
func addU64Wide(r *Regs, o *Operands)

//go:noescape
func subU64Wide(r *Regs, o *Operands)

//go:noescape
func andU64Wide(r *Regs, o *Operands)

//go:noescape
func orU64Wide(r *Regs, o *Operands)

//go:noescape
func xorU64Wide(r *Regs, o *Operands)

//go:noescape
func madLoU32Wide(r *Regs, o *Operands)

//go:noescape
func notU32Wide(r *Regs, o *Operands)

//go:noescape
func negU32Wide(r *Regs, o *Operands)

//go:noescape
func mov32Wide(r *Regs, o *Operands)

//go:noescape
func mov64Wide(r *Regs, o *Operands)

//go:noescape
func shlU64Wide(r *Regs, o *Operands)

//go:noescape
func shrU64Wide(r *Regs, o *Operands)

//go:noescape
func mulWideU32Wide(r *Regs, o *Operands)

//go:noescape
func mulWideS32Wide(r *Regs, o *Operands)

//go:noescape
func madWideU32Wide(r *Regs, o *Operands)

//go:noescape
func madWideS32Wide(r *Regs, o *Operands)

//go:noescape
func cvtU64U32Wide(r *Regs, o *Operands)

//go:noescape
func cvtS64S32Wide(r *Regs, o *Operands)

//go:noescape
func cvtU32U64Wide(r *Regs, o *Operands)

//go:noescape
func pack16Wide(r *Regs, o *Operands)

//go:noescape
func unpack16Wide(r *Regs, o *Operands)

//go:noescape
func selp32Wide(r *Regs, o *Operands)

//go:noescape
func selp64Wide(r *Regs, o *Operands)

//go:noescape
func addF32Wide(r *Regs, o *Operands)

//go:noescape
func subF32Wide(r *Regs, o *Operands)

//go:noescape
func mulF32Wide(r *Regs, o *Operands)

//go:noescape
func addFtzF32Wide(r *Regs, o *Operands)

//go:noescape
func subFtzF32Wide(r *Regs, o *Operands)

//go:noescape
func mulFtzF32Wide(r *Regs, o *Operands)

//go:noescape
func fmaF32Wide(r *Regs, o *Operands)

//go:noescape
func fmaFtzF32Wide(r *Regs, o *Operands)

//go:noescape
func cvtF32F16Wide(r *Regs, o *Operands)

//go:noescape
func cvtRnF16F32Wide(r *Regs, o *Operands)

//go:noescape
func cvtRnF16x2F32Wide(r *Regs, o *Operands)

//go:noescape
func setpEqU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpNeU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGtS32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLeS32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLtS32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGeS32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGtU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLeU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLtU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGeU32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpEqF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpNeF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLtF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLeF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGtF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGeF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpEquF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpNeuF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLtuF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpLeuF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGtuF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpGeuF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpNumF32Wide(r *Regs, at, by int32) (m uint32)

//go:noescape
func setpNanF32Wide(r *Regs, at, by int32) (m uint32)
