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

DATA signs<>+0(SB)/8, $0x8000000080000000
DATA signs<>+8(SB)/8, $0x8000000080000000
GLOBL signs<>(SB), RODATA|NOPTR, $16

DATA sizes<>+0(SB)/8, $0x7fff00007fff0000
DATA sizes<>+8(SB)/8, $0x7fff00007fff0000
GLOBL sizes<>(SB), RODATA|NOPTR, $16

DATA scale<>+0(SB)/8, $0x7780000077800000 // 2^112
DATA scale<>+8(SB)/8, $0x7780000077800000
GLOBL scale<>(SB), RODATA|NOPTR, $16

DATA exponents<>+0(SB)/8, $0x7c007c007c007c00
DATA exponents<>+8(SB)/8, $0x7c007c007c007c00
GLOBL exponents<>(SB), RODATA|NOPTR, $16

DATA carry<>+0(SB)/8, $0x0400040004000400
DATA carry<>+8(SB)/8, $0x0400040004000400
GLOBL carry<>(SB), RODATA|NOPTR, $16

// WIDEN makes float32 of the f16 in the high halves of x, as smallHalf does; t is scratch.
#define WIDEN(x, t) \
	MOVO  x, t; \
	PAND  X8, t; \
	PAND  X9, x; \
	PSRLL $3, x; \
	POR   t, x; \
	MULPS X10, x

// func rowsOfHalves(rows *[8][8]float32, x *[32]uint32) uint32
TEXT ·rowsOfHalves(SB), NOSPLIT, $0-20
	MOVQ  rows+0(FP), DI
	MOVQ  x+8(FP), SI
	MOVOU signs<>(SB), X8
	MOVOU sizes<>(SB), X9
	MOVOU scale<>(SB), X10
	MOVOU exponents<>(SB), X11
	MOVOU carry<>(SB), X12
	PXOR  X13, X13
	MOVQ  $8, CX

halves:
	MOVOU     (SI), X0
	MOVO      X0, X4
	PAND      X11, X4
	PADDW     X12, X4
	POR       X4, X13
	MOVO      X0, X1
	PSLLL     $16, X1
	WIDEN(X1, X2)
	WIDEN(X0, X3)
	MOVO      X1, X2
	PUNPCKLLQ X0, X2
	PUNPCKHLQ X0, X1
	MOVOU     X2, (DI)
	MOVOU     X1, 16(DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       halves
	PMOVMSKB  X13, AX
	ANDL      $0xaaaa, AX
	MOVL      AX, special+16(FP)
	RET

// func rowsOfBrains(rows *[8][8]float32, x *[32]uint32)
TEXT ·rowsOfBrains(SB), NOSPLIT, $0-16
	MOVQ    rows+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    $8, CX
	PCMPEQL X3, X3
	PSLLL   $16, X3

brains:
	MOVOU     (SI), X0
	MOVO      X0, X1
	PSLLL     $16, X1
	PAND      X3, X0
	MOVO      X1, X2
	PUNPCKLLQ X0, X2
	PUNPCKHLQ X0, X1
	MOVOU     X2, (DI)
	MOVOU     X1, 16(DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       brains
	RET

// func interleave(rows *[8][8]float32, even, odd *[32]uint32)
TEXT ·interleave(SB), NOSPLIT, $0-24
	MOVQ rows+0(FP), DI
	MOVQ even+8(FP), SI
	MOVQ odd+16(FP), DX
	MOVQ $8, CX

pairs:
	MOVOU     (SI), X0
	MOVOU     (DX), X1
	MOVO      X0, X2
	PUNPCKLLQ X1, X2
	PUNPCKHLQ X1, X0
	MOVOU     X2, (DI)
	MOVOU     X0, 16(DI)
	ADDQ      $16, SI
	ADDQ      $16, DX
	ADDQ      $32, DI
	DECQ      CX
	JNZ       pairs
	RET
