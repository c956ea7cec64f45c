//go:build amd64

#include "textflag.h"

// half adds the products of four columns, off bytes into the rows of b, to those of c. X0 to X7 hold a's row, each element four
// times. The order of the sums is that of the Go twin.
#define HALF(off) \
	MOVUPS off(DX), X8; \
	MULPS  X0, X8; \
	MOVUPS (off+32)(DX), X9; \
	MULPS  X1, X9; \
	ADDPS  X9, X8; \
	MOVUPS (off+64)(DX), X9; \
	MULPS  X2, X9; \
	MOVUPS (off+96)(DX), X10; \
	MULPS  X3, X10; \
	ADDPS  X10, X9; \
	ADDPS  X9, X8; \
	MOVUPS (off+128)(DX), X9; \
	MULPS  X4, X9; \
	MOVUPS (off+160)(DX), X10; \
	MULPS  X5, X10; \
	ADDPS  X10, X9; \
	MOVUPS (off+192)(DX), X10; \
	MULPS  X6, X10; \
	MOVUPS (off+224)(DX), X11; \
	MULPS  X7, X11; \
	ADDPS  X11, X10; \
	ADDPS  X10, X9; \
	ADDPS  X9, X8; \
	MOVUPS off(DI), X9; \
	ADDPS  X8, X9; \
	MOVUPS X9, off(DI)

#define FOUR(off, to) \
	MOVSS  off(SI), to; \
	SHUFPS $0, to, to

// func addProducts(c, a *[16][8]float32, b *[8][8]float32)
TEXT ·addProducts(SB), NOSPLIT, $0-24
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ $16, CX

row:
	FOUR(0, X0)
	FOUR(4, X1)
	FOUR(8, X2)
	FOUR(12, X3)
	FOUR(16, X4)
	FOUR(20, X5)
	FOUR(24, X6)
	FOUR(28, X7)
	HALF(0)
	HALF(16)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  row
	RET
