//go:build amd64

#include "textflag.h"
#include "loops_vector_amd64.h"

// Comparisons of the lanes, as loops_vector_int_amd64.s.

DATA signs32<>+0(SB)/4, $0x80000000
GLOBL signs32<>(SB), RODATA|NOPTR, $4

// Comparisons give a bit a lane.
#define COMPARE \
	MOVQ r+0(FP), AX; \
	MOVQ (AX), CX; \
	MOVLQSX at+8(FP), SI; \
	SHLQ $7, SI; \
	ADDQ CX, SI; \
	MOVLQSX by+12(FP), DX; \
	SHLQ $7, DX; \
	ADDQ CX, DX; \
	XORL R10, R10

#define BITSOF(at) \
	VMOVMSKPS Y0, R9; \
	SHLL $at, R9; \
	ORL R9, R10

#define FOURBITS(OP) \
	OP(0); \
	BITSOF(0); \
	OP(32); \
	BITSOF(8); \
	OP(64); \
	BITSOF(16); \
	OP(96); \
	BITSOF(24)

#define ANSWER \
	MOVL R10, m+16(FP); \
	DONE

#define ANSWERNOT \
	NOTL R10; \
	ANSWER

#define EQUAL(at) \
	VMOVDQU at(SI), Y0; \
	VPCMPEQD at(DX), Y0, Y0

#define GREATER(at) \
	VMOVDQU at(SI), Y0; \
	VPCMPGTD at(DX), Y0, Y0

#define LESS(at) \
	VMOVDQU at(DX), Y0; \
	VPCMPGTD at(SI), Y0, Y0

#define ABOVE(at) \
	VPXOR at(SI), Y15, Y0; \
	VPXOR at(DX), Y15, Y1; \
	VPCMPGTD Y1, Y0, Y0

#define BELOW(at) \
	VPXOR at(SI), Y15, Y0; \
	VPXOR at(DX), Y15, Y1; \
	VPCMPGTD Y0, Y1, Y0

#define FLOATBITS(how, at) \
	VMOVUPS at(SI), Y0; \
	VCMPPS how, at(DX), Y0, Y0

#define ISEQ(at) FLOATBITS($0, at)

#define ISNE(at) FLOATBITS($12, at)

#define ISLT(at) FLOATBITS($17, at)

#define ISLE(at) FLOATBITS($18, at)

#define ISGT(at) FLOATBITS($30, at)

#define ISGE(at) FLOATBITS($29, at)

#define ISEQU(at) FLOATBITS($8, at)

#define ISNEU(at) FLOATBITS($4, at)

#define ISLTU(at) FLOATBITS($25, at)

#define ISLEU(at) FLOATBITS($26, at)

#define ISGTU(at) FLOATBITS($22, at)

#define ISGEU(at) FLOATBITS($21, at)

#define ISNUM(at) FLOATBITS($7, at)

#define ISNAN(at) FLOATBITS($3, at)

// func setpEqU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpEqU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(EQUAL)
	ANSWER

// func setpNeU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpNeU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(EQUAL)
	ANSWERNOT

// func setpGtS32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGtS32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(GREATER)
	ANSWER

// func setpLeS32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLeS32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(GREATER)
	ANSWERNOT

// func setpLtS32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLtS32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(LESS)
	ANSWER

// func setpGeS32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGeS32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(LESS)
	ANSWERNOT

// func setpGtU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGtU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	VPBROADCASTD signs32<>(SB), Y15
	FOURBITS(ABOVE)
	ANSWER

// func setpLeU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLeU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	VPBROADCASTD signs32<>(SB), Y15
	FOURBITS(ABOVE)
	ANSWERNOT

// func setpLtU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLtU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	VPBROADCASTD signs32<>(SB), Y15
	FOURBITS(BELOW)
	ANSWER

// func setpGeU32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGeU32Wide(SB), NOSPLIT, $0-20
	COMPARE
	VPBROADCASTD signs32<>(SB), Y15
	FOURBITS(BELOW)
	ANSWERNOT

// func setpEqF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpEqF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISEQ)
	ANSWER

// func setpNeF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpNeF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISNE)
	ANSWER

// func setpLtF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLtF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISLT)
	ANSWER

// func setpLeF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLeF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISLE)
	ANSWER

// func setpGtF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGtF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISGT)
	ANSWER

// func setpGeF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGeF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISGE)
	ANSWER

// func setpEquF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpEquF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISEQU)
	ANSWER

// func setpNeuF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpNeuF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISNEU)
	ANSWER

// func setpLtuF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLtuF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISLTU)
	ANSWER

// func setpLeuF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpLeuF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISLEU)
	ANSWER

// func setpGtuF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGtuF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISGTU)
	ANSWER

// func setpGeuF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpGeuF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISGEU)
	ANSWER

// func setpNumF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpNumF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISNUM)
	ANSWER

// func setpNanF32Wide(r *Regs, at, by int32) (m uint32)
TEXT ·setpNanF32Wide(SB), NOSPLIT, $0-20
	COMPARE
	FOURBITS(ISNAN)
	ANSWER
