//go:build amd64

#include "textflag.h"
#include "loops_vector_amd64.h"

// Loops over the lanes of floats, as loops_vector_int_amd64.s: the bits are those of the loops in Go.

DATA ones<>+0(SB)/4, $0x7fffffff // all but the sign, and the NaN of results
GLOBL ones<>(SB), RODATA|NOPTR, $4

DATA exponents32<>+0(SB)/4, $0x7f800000
GLOBL exponents32<>(SB), RODATA|NOPTR, $4

DATA low16<>+0(SB)/4, $0x0000ffff
GLOBL low16<>(SB), RODATA|NOPTR, $4

#define FLOATS(OP, at) \
	VMOVUPS at(SI), Y0; \
	OP at(DX), Y0, Y0; \
	CLEAN(Y0, Y1); \
	VMOVUPS Y0, at(DI)

#define FLUSHED(OP, at) \
	VMOVUPS at(SI), Y0; \
	VMOVUPS at(DX), Y1; \
	FLUSH(Y0, Y2); \
	FLUSH(Y1, Y3); \
	OP Y1, Y0, Y0; \
	CLEAN(Y0, Y1); \
	FLUSH(Y0, Y2); \
	VMOVUPS Y0, at(DI)

#define ADDS(at) FLOATS(VADDPS, at)

#define SUBS(at) FLOATS(VSUBPS, at)

#define MULS(at) FLOATS(VMULPS, at)

#define ADDSFTZ(at) FLUSHED(VADDPS, at)

#define SUBSFTZ(at) FLUSHED(VSUBPS, at)

#define MULSFTZ(at) FLUSHED(VMULPS, at)

#define FMAS(at) \
	VMOVUPS at(SI), Y0; \
	VMOVUPS at(DX), Y1; \
	VFMADD213PS at(R8), Y1, Y0; \
	CLEAN(Y0, Y1); \
	VMOVUPS Y0, at(DI)

#define FMASFTZ(at) \
	VMOVUPS at(SI), Y0; \
	VMOVUPS at(DX), Y1; \
	VMOVUPS at(R8), Y2; \
	FLUSH(Y0, Y3); \
	FLUSH(Y1, Y4); \
	FLUSH(Y2, Y5); \
	VFMADD213PS Y2, Y1, Y0; \
	CLEAN(Y0, Y1); \
	FLUSH(Y0, Y3); \
	VMOVUPS Y0, at(DI)

// WIDENS make float32 of the f16 in the low halves of eight registers' lanes.
#define WIDENS(at) \
	VMOVDQU at(SI), Y0; \
	VPAND Y14, Y0, Y0; \
	VPACKUSDW Y0, Y0, Y0; \
	VPERMQ $0x08, Y0, Y0; \
	VCVTPH2PS X0, Y0; \
	CLEAN(Y0, Y1); \
	VMOVUPS Y0, at(DI)

// NARROWED rounds eight float32 to f16, in X0.
#define NARROWED(from, at) \
	VMOVUPS at(from), Y0; \
	CLEAN(Y0, Y1); \
	VCVTPS2PH $0, Y0, X0

#define HALVES(at) \
	NARROWED(SI, at); \
	VPMOVZXWD X0, Y0; \
	VMOVDQU Y0, at(DI)

#define HALVES2(at) \
	NARROWED(SI, at); \
	VPMOVZXWD X0, Y2; \
	VPSLLD $16, Y2, Y2; \
	NARROWED(DX, at); \
	VPMOVZXWD X0, Y0; \
	VPOR Y2, Y0, Y0; \
	VMOVDQU Y0, at(DI)

// func addF32Wide(r *Regs, o *Operands)
TEXT ·addF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADCLEAN
	FOUR(ADDS)
	DONE

// func subF32Wide(r *Regs, o *Operands)
TEXT ·subF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADCLEAN
	FOUR(SUBS)
	DONE

// func mulF32Wide(r *Regs, o *Operands)
TEXT ·mulF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADCLEAN
	FOUR(MULS)
	DONE

// func addFtzF32Wide(r *Regs, o *Operands)
TEXT ·addFtzF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADFLUSH
	FOUR(ADDSFTZ)
	DONE

// func subFtzF32Wide(r *Regs, o *Operands)
TEXT ·subFtzF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADFLUSH
	FOUR(SUBSFTZ)
	DONE

// func mulFtzF32Wide(r *Regs, o *Operands)
TEXT ·mulFtzF32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADFLUSH
	FOUR(MULSFTZ)
	DONE

// func fmaF32Wide(r *Regs, o *Operands)
TEXT ·fmaF32Wide(SB), NOSPLIT, $0-16
	TWO32
	NARROW(C, R8)
	LOADCLEAN
	FOUR(FMAS)
	DONE

// func fmaFtzF32Wide(r *Regs, o *Operands)
TEXT ·fmaFtzF32Wide(SB), NOSPLIT, $0-16
	TWO32
	NARROW(C, R8)
	LOADFLUSH
	FOUR(FMASFTZ)
	DONE

// func cvtF32F16Wide(r *Regs, o *Operands)
TEXT ·cvtF32F16Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(D, DI)
	LOADCLEAN
	VPBROADCASTD low16<>(SB), Y14
	FOUR(WIDENS)
	DONE

// func cvtRnF16F32Wide(r *Regs, o *Operands)
TEXT ·cvtRnF16F32Wide(SB), NOSPLIT, $0-16
	BEGIN
	NARROW(A, SI)
	NARROW(D, DI)
	LOADCLEAN
	FOUR(HALVES)
	DONE

// func cvtRnF16x2F32Wide(r *Regs, o *Operands)
TEXT ·cvtRnF16x2F32Wide(SB), NOSPLIT, $0-16
	TWO32
	LOADCLEAN
	FOUR(HALVES2)
	DONE
