//go:build amd64

#include "textflag.h"

DATA signs<>+0(SB)/8, $0x8000000000000000
GLOBL signs<>(SB), RODATA|NOPTR, $8

DATA extraordinary<>+0(SB)/4, $0x001f0000 // allPending | splitBit
GLOBL extraordinary<>(SB), RODATA|NOPTR, $4

// LATER adds to Y15 which marks of two cells are above that in Y14. Vectors compare with signs: Y13 turns them.
#define LATER(at, y) \
	VPXOR at(SI), Y13, y; \
	VPCMPGTQ Y14, y, y; \
	VPOR y, Y15, Y15

// func quietWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, known uint64) bool
TEXT ·quietWide(SB), NOSPLIT, $0-25
	MOVQ cells+0(FP), SI
	MOVQ state+8(FP), DX
	MOVQ known+16(FP), AX
	VPBROADCASTQ signs<>(SB), Y13
	VMOVQ AX, X14
	VPBROADCASTQ X14, Y14
	VPXOR Y13, Y14, Y14
	VMOVDQU (DX), Y15
	VPOR 32(DX), Y15, Y15
	VPOR 64(DX), Y15, Y15
	VPOR 96(DX), Y15, Y15
	VPBROADCASTD extraordinary<>(SB), Y12
	VPAND Y12, Y15, Y15
	MOVL $4, CX

more:
	LATER(0, Y0)
	LATER(32, Y1)
	LATER(64, Y2)
	LATER(96, Y3)
	ADDQ $128, SI
	DECL CX
	JNZ more
	VPTEST Y15, Y15
	SETEQ ret+24(FP)
	VZEROUPPER
	RET

// func fillWide(cells *[lane.Lanes]cell, state *[lane.Lanes]uint32, write uint64, st uint32)
TEXT ·fillWide(SB), NOSPLIT, $0-28
	MOVQ cells+0(FP), DI
	MOVQ state+8(FP), DX
	MOVQ write+16(FP), AX
	VMOVQ AX, X0
	VINSERTI128 $1, X0, Y0, Y0
	MOVL st+24(FP), AX
	VMOVD AX, X1
	VPBROADCASTD X1, Y1
	VMOVDQU Y1, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y1, 64(DX)
	VMOVDQU Y1, 96(DX)
	MOVL $4, CX

more:
	VMOVDQU Y0, (DI)
	VMOVDQU Y0, 32(DI)
	VMOVDQU Y0, 64(DI)
	VMOVDQU Y0, 96(DI)
	ADDQ $128, DI
	DECL CX
	JNZ more
	VZEROUPPER
	RET
