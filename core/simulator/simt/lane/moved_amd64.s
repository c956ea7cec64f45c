//go:build amd64

#include "textflag.h"

// The loops of moved.go with vectors of 256 bits.

// DIFFERS adds to the bits of Y15 those in which a - b is not the distance in Y14.
#define DIFFERS(SUB, at, y) \
	VMOVDQU at(SI), y; \
	SUB at(DX), y, y; \
	VPXOR Y14, y, y; \
	VPOR y, Y15, Y15

// func moved32(a, b *[Lanes]uint32, by uint32) bool
TEXT ·moved32(SB), NOSPLIT, $0-25
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVL by+16(FP), AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	VPXOR Y15, Y15, Y15
	DIFFERS(VPSUBD, 0, Y0)
	DIFFERS(VPSUBD, 32, Y1)
	DIFFERS(VPSUBD, 64, Y2)
	DIFFERS(VPSUBD, 96, Y3)
	VPTEST Y15, Y15
	SETEQ ret+24(FP)
	VZEROUPPER
	RET

// func moved64(a, b *[Lanes]uint64, by uint64) bool
TEXT ·moved64(SB), NOSPLIT, $0-25
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DX
	MOVQ by+16(FP), AX
	VMOVQ AX, X14
	VPBROADCASTQ X14, Y14
	VPXOR Y15, Y15, Y15
	DIFFERS(VPSUBQ, 0, Y0)
	DIFFERS(VPSUBQ, 32, Y1)
	DIFFERS(VPSUBQ, 64, Y2)
	DIFFERS(VPSUBQ, 96, Y3)
	DIFFERS(VPSUBQ, 128, Y4)
	DIFFERS(VPSUBQ, 160, Y5)
	DIFFERS(VPSUBQ, 192, Y6)
	DIFFERS(VPSUBQ, 224, Y7)
	VPTEST Y15, Y15
	SETEQ ret+24(FP)
	VZEROUPPER
	RET

// LESS takes from Y15 the lanes that are less than those of Y14.
#define LESS(at, y) \
	VPMINUD at(SI), Y14, y; \
	VPCMPEQD Y14, y, y; \
	VPAND y, Y15, Y15

// func atLeast(a *[Lanes]uint32, least uint32) bool
TEXT ·atLeast(SB), NOSPLIT, $0-17
	MOVQ a+0(FP), SI
	MOVL least+8(FP), AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	VPCMPEQD Y15, Y15, Y15
	LESS(0, Y0)
	LESS(32, Y1)
	LESS(64, Y2)
	LESS(96, Y3)
	VPMOVMSKB Y15, AX
	CMPL AX, $-1
	SETEQ ret+16(FP)
	VZEROUPPER
	RET

// ROW loads row i of a matrix.
#define ROW(i, x) \
	MOVL (4*i)(SI), AX; \
	ADDL R8, AX; \
	VMOVDQU (DX)(AX*1), x

#define EIGHTROWS \
	ROW(0, X0); \
	ROW(1, X1); \
	ROW(2, X2); \
	ROW(3, X3); \
	ROW(4, X4); \
	ROW(5, X5); \
	ROW(6, X6); \
	ROW(7, X7)

#define EIGHTOUT(a, b, c, d, e, f, g, h) \
	MOVQ (BX), DI; \
	VMOVDQU a, (DI); \
	VMOVDQU b, 16(DI); \
	VMOVDQU c, 32(DI); \
	VMOVDQU d, 48(DI); \
	VMOVDQU e, 64(DI); \
	VMOVDQU f, 80(DI); \
	VMOVDQU g, 96(DI); \
	VMOVDQU h, 112(DI)

#define NEXTMATRIX(again) \
	ADDQ $8, BX; \
	ADDQ $32, SI; \
	DECQ CX; \
	JNZ again

// func rowsOfMatrices(to *[4]*[Lanes]uint32, n int, from *byte, at *[Lanes]uint32, off uint32)
TEXT ·rowsOfMatrices(SB), NOSPLIT, $0-36
	MOVQ to+0(FP), BX
	MOVQ n+8(FP), CX
	MOVQ from+16(FP), DX
	MOVQ at+24(FP), SI
	MOVL off+32(FP), R8

rows:
	EIGHTROWS
	EIGHTOUT(X0, X1, X2, X3, X4, X5, X6, X7)
	NEXTMATRIX(rows)
	RET

// func columnsOfMatrices(to *[4]*[Lanes]uint32, n int, from *byte, at *[Lanes]uint32, off uint32)
TEXT ·columnsOfMatrices(SB), NOSPLIT, $0-36
	MOVQ to+0(FP), BX
	MOVQ n+8(FP), CX
	MOVQ from+16(FP), DX
	MOVQ at+24(FP), SI
	MOVL off+32(FP), R8

columns:
	EIGHTROWS
	VPUNPCKLWD X1, X0, X8  // columns 0 to 3 of rows 0 and 1
	VPUNPCKHWD X1, X0, X9  // columns 4 to 7
	VPUNPCKLWD X3, X2, X10
	VPUNPCKHWD X3, X2, X11
	VPUNPCKLWD X5, X4, X12
	VPUNPCKHWD X5, X4, X13
	VPUNPCKLWD X7, X6, X14
	VPUNPCKHWD X7, X6, X15
	VPUNPCKLDQ X10, X8, X0 // columns 0 and 1 of rows 0 to 3
	VPUNPCKHDQ X10, X8, X1
	VPUNPCKLDQ X14, X12, X2 // of rows 4 to 7
	VPUNPCKHDQ X14, X12, X3
	VPUNPCKLDQ X11, X9, X4 // columns 4 and 5
	VPUNPCKHDQ X11, X9, X5
	VPUNPCKLDQ X15, X13, X6
	VPUNPCKHDQ X15, X13, X7
	VPUNPCKLQDQ X2, X0, X8
	VPUNPCKHQDQ X2, X0, X9
	VPUNPCKLQDQ X3, X1, X10
	VPUNPCKHQDQ X3, X1, X11
	VPUNPCKLQDQ X6, X4, X12
	VPUNPCKHQDQ X6, X4, X13
	VPUNPCKLQDQ X7, X5, X14
	VPUNPCKHQDQ X7, X5, X15
	EIGHTOUT(X8, X9, X10, X11, X12, X13, X14, X15)
	NEXTMATRIX(columns)
	RET

#define PIECE(i) \
	MOVL (4*i)(SI), AX; \
	ADDL R8, AX; \
	MOVQ (8*i)(R9), BX; \
	VMOVDQU (DX)(BX*1), X0; \
	VMOVDQU X0, (DI)(AX*1)

// func pieces(to *[Lanes][rowBytes]byte, at *[Lanes]uint32, off uint32, from *byte, source *[Lanes]uint64, by uint64)
TEXT ·pieces(SB), NOSPLIT, $0-48
	MOVQ to+0(FP), DI
	MOVQ at+8(FP), SI
	MOVL off+16(FP), R8
	MOVQ from+24(FP), DX
	MOVQ source+32(FP), R9
	ADDQ by+40(FP), DX
	MOVL $8, CX

piece:
	PIECE(0)
	PIECE(1)
	PIECE(2)
	PIECE(3)
	ADDQ $16, SI
	ADDQ $32, R9
	DECL CX
	JNZ piece
	RET
