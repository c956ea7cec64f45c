//go:build amd64

#include "textflag.h"

// Products of matrices with vectors of eight columns. DI holds the wideProduct, R8 room on the stack: at 0 a group of A by rows, at 512
// the sums by rows. In a vector of columns stand 0, 2, 4, 6, 1, 3, 5, 7: so the registers of C and D, which have the even and the odd ones,
// need not be interleaved. Everything is read before anything is written: registers of D may be those of A, B and C.

#define SUMS 512
#define KEPT 1024

// offsets of wideProduct
#define P_D 0
#define P_C 32
#define P_A 64
#define P_B 128
#define P_GROUPS 160
#define P_FLAGS 168

DATA nan32s<>+0(SB)/4, $0x7fffffff
GLOBL nan32s<>(SB), RODATA|NOPTR, $4

DATA nan64s<>+0(SB)/8, $0xfff8000000000000
GLOBL nan64s<>(SB), RODATA|NOPTR, $8

DATA most32<>+0(SB)/4, $0x7fffffff
GLOBL most32<>(SB), RODATA|NOPTR, $4

DATA words<>+0(SB)/4, $0xffffe000 // the bits of tf32
GLOBL words<>(SB), RODATA|NOPTR, $4

DATA apart<>+0(SB)/8, $0x0000000200000000 // 0 2 4 6 1 3 5 7
DATA apart<>+8(SB)/8, $0x0000000600000004
DATA apart<>+16(SB)/8, $0x0000000300000001
DATA apart<>+24(SB)/8, $0x0000000700000005
GLOBL apart<>(SB), RODATA|NOPTR, $32

DATA together<>+0(SB)/8, $0x0000000400000000 // 0 4 1 5 2 6 3 7
DATA together<>+8(SB)/8, $0x0000000500000001
DATA together<>+16(SB)/8, $0x0000000600000002
DATA together<>+24(SB)/8, $0x0000000700000003
GLOBL together<>(SB), RODATA|NOPTR, $32

#define ROOM \
	LEAQ 31(SP), R8; \
	ANDQ $-32, R8

#define ROWC(i, to) \
	VMOVUPS (16*i)(AX), X0; \
	VINSERTF128 $1, (16*i)(BX), Y0, Y0; \
	VMOVUPS Y0, (to+32*i)(R8)

#define EIGHTC(even, odd, to) \
	MOVQ even(DI), AX; \
	MOVQ odd(DI), BX; \
	ROWC(0, to); \
	ROWC(1, to); \
	ROWC(2, to); \
	ROWC(3, to); \
	ROWC(4, to); \
	ROWC(5, to); \
	ROWC(6, to); \
	ROWC(7, to)

// LOADC puts the accumulators into room.
#define LOADC(to) \
	EIGHTC((P_C), (P_C+8), (to)); \
	EIGHTC((P_C+16), (P_C+24), (to+256))

// ROWD stores a row of sums. A NaN becomes the one that GPUs have; Y15 holds it.
#define ROWD(i, from) \
	VMOVUPS (from+32*i)(R8), Y0; \
	VCMPPS $3, Y0, Y0, Y1; \
	VBLENDVPS Y1, Y15, Y0, Y0; \
	VMOVUPS X0, (16*i)(AX); \
	VEXTRACTF128 $1, Y0, (16*i)(BX)

#define EIGHTD(even, odd, from) \
	MOVQ even(DI), AX; \
	MOVQ odd(DI), BX; \
	ROWD(0, from); \
	ROWD(1, from); \
	ROWD(2, from); \
	ROWD(3, from); \
	ROWD(4, from); \
	ROWD(5, from); \
	ROWD(6, from); \
	ROWD(7, from)

#define STORED \
	VBROADCASTSS nan32s<>(SB), Y15; \
	EIGHTD((P_D), (P_D+8), (SUMS)); \
	EIGHTD((P_D+16), (P_D+24), (SUMS+256))

// TURN makes rows of B of its columns: Y0 to Y3 have the first four k of columns 0 and 1, 2 and 3, 4 and 5, 6 and 7, Y4 to Y7 the last
// four. Y0 to Y7 are the rows then.
#define TURN \
	VUNPCKLPS Y1, Y0, Y8; \
	VUNPCKHPS Y1, Y0, Y9; \
	VUNPCKLPS Y3, Y2, Y10; \
	VUNPCKHPS Y3, Y2, Y11; \
	VUNPCKLPS Y5, Y4, Y12; \
	VUNPCKHPS Y5, Y4, Y13; \
	VUNPCKLPS Y7, Y6, Y14; \
	VUNPCKHPS Y7, Y6, Y15; \
	VUNPCKLPD Y10, Y8, Y0; \
	VUNPCKHPD Y10, Y8, Y1; \
	VUNPCKLPD Y11, Y9, Y2; \
	VUNPCKHPD Y11, Y9, Y3; \
	VUNPCKLPD Y14, Y12, Y4; \
	VUNPCKHPD Y14, Y12, Y5; \
	VUNPCKLPD Y15, Y13, Y6; \
	VUNPCKHPD Y15, Y13, Y7

// PAIR takes two columns of 16 bytes apart into their first and their last eight.
#define PAIR(at, first, last) \
	VMOVDQU at(AX), X15; \
	VPUNPCKLQDQ (at+16)(AX), X15, first; \
	VPUNPCKHQDQ (at+16)(AX), X15, last

#define COLUMNS16 \
	PAIR(0, X0, X4); \
	PAIR(32, X1, X5); \
	PAIR(64, X2, X6); \
	PAIR(96, X3, X7)

#define ALL(OP) \
	OP(X0, Y0); \
	OP(X1, Y1); \
	OP(X2, Y2); \
	OP(X3, Y3); \
	OP(X4, Y4); \
	OP(X5, Y5); \
	OP(X6, Y6); \
	OP(X7, Y7)

#define HALVES(x, y) VCVTPH2PS x, y

#define BRAINS(x, y) \
	VPMOVZXWD x, y; \
	VPSLLD $16, y, y

#define SIGNED(x, y) VPMOVSXBW x, y

#define UNSIGNED(x, y) VPMOVZXBW x, y

// ROWA puts a row of 16 bytes of A into room.
#define ROWA(OP, i, to) \
	OP((16*i)(AX), Y0); \
	VMOVUPS Y0, (to+32*i)(R8)

#define EIGHTA(OP, to) \
	ROWA(OP, 0, to); \
	ROWA(OP, 1, to); \
	ROWA(OP, 2, to); \
	ROWA(OP, 3, to); \
	ROWA(OP, 4, to); \
	ROWA(OP, 5, to); \
	ROWA(OP, 6, to); \
	ROWA(OP, 7, to)

// GROUPA puts the rows of a group of A into room.
#define GROUPA(OP) \
	MOVQ P_A(R9), AX; \
	EIGHTA(OP, 0); \
	MOVQ (P_A+8)(R9), AX; \
	EIGHTA(OP, 256)

#define BEGINROWS \
	MOVQ R8, SI; \
	LEAQ SUMS(R8), DX; \
	MOVL $16, CX

#define NEXTROW(again) \
	ADDQ $32, SI; \
	ADDQ $32, DX; \
	DECL CX; \
	JNZ again

// EXACT adds eight products to a row of sums as a tree. A product must be exact, so that it makes no difference that the first of two is
// not rounded.
#define EXACT(at) \
	VBROADCASTSS (at+4)(SI), Y8; \
	VMULPS Y1, Y8, Y8; \
	VBROADCASTSS at(SI), Y9; \
	VFMADD231PS Y0, Y9, Y8; \
	VBROADCASTSS (at+12)(SI), Y10; \
	VMULPS Y3, Y10, Y10; \
	VBROADCASTSS (at+8)(SI), Y11; \
	VFMADD231PS Y2, Y11, Y10; \
	VBROADCASTSS (at+20)(SI), Y12; \
	VMULPS Y5, Y12, Y12; \
	VBROADCASTSS (at+16)(SI), Y13; \
	VFMADD231PS Y4, Y13, Y12; \
	VBROADCASTSS (at+28)(SI), Y14; \
	VMULPS Y7, Y14, Y14; \
	VBROADCASTSS (at+24)(SI), Y15; \
	VFMADD231PS Y6, Y15, Y14; \
	VADDPS Y10, Y8, Y8; \
	VADDPS Y14, Y12, Y12; \
	VADDPS Y12, Y8, Y8; \
	VADDPS at(DX), Y8, Y8; \
	VMOVUPS Y8, at(DX)

// FOUREXACT does so for four rows, and goes on until all sixteen are done.
#define FOUREXACT(again) \
	EXACT(0); \
	EXACT(32); \
	EXACT(64); \
	EXACT(96); \
	ADDQ $128, SI; \
	ADDQ $128, DX; \
	SUBL $4, CX; \
	JNZ again

// ROUNDED is EXACT of products that are rounded.
#define ROUNDED \
	VBROADCASTSS (SI), Y8; \
	VMULPS Y0, Y8, Y8; \
	VBROADCASTSS 4(SI), Y9; \
	VMULPS Y1, Y9, Y9; \
	VBROADCASTSS 8(SI), Y10; \
	VMULPS Y2, Y10, Y10; \
	VBROADCASTSS 12(SI), Y11; \
	VMULPS Y3, Y11, Y11; \
	VBROADCASTSS 16(SI), Y12; \
	VMULPS Y4, Y12, Y12; \
	VBROADCASTSS 20(SI), Y13; \
	VMULPS Y5, Y13, Y13; \
	VBROADCASTSS 24(SI), Y14; \
	VMULPS Y6, Y14, Y14; \
	VBROADCASTSS 28(SI), Y15; \
	VMULPS Y7, Y15, Y15; \
	VADDPS Y9, Y8, Y8; \
	VADDPS Y11, Y10, Y10; \
	VADDPS Y13, Y12, Y12; \
	VADDPS Y15, Y14, Y14; \
	VADDPS Y10, Y8, Y8; \
	VADDPS Y14, Y12, Y12; \
	VADDPS Y12, Y8, Y8; \
	VADDPS (DX), Y8, Y8; \
	VMOVUPS Y8, (DX)

// WHOLE adds eight products of two pairs of 16 bits each.
#define WHOLE \
	VPBROADCASTD (SI), Y8; \
	VPMADDWD Y0, Y8, Y8; \
	VPBROADCASTD 4(SI), Y9; \
	VPMADDWD Y1, Y9, Y9; \
	VPBROADCASTD 8(SI), Y10; \
	VPMADDWD Y2, Y10, Y10; \
	VPBROADCASTD 12(SI), Y11; \
	VPMADDWD Y3, Y11, Y11; \
	VPBROADCASTD 16(SI), Y12; \
	VPMADDWD Y4, Y12, Y12; \
	VPBROADCASTD 20(SI), Y13; \
	VPMADDWD Y5, Y13, Y13; \
	VPBROADCASTD 24(SI), Y14; \
	VPMADDWD Y6, Y14, Y14; \
	VPBROADCASTD 28(SI), Y15; \
	VPMADDWD Y7, Y15, Y15; \
	VPADDD Y9, Y8, Y8; \
	VPADDD Y11, Y10, Y10; \
	VPADDD Y13, Y12, Y12; \
	VPADDD Y15, Y14, Y14; \
	VPADDD Y10, Y8, Y8; \
	VPADDD Y14, Y12, Y12; \
	VPADDD Y12, Y8, Y8; \
	VPADDD (DX), Y8, Y8; \
	VMOVDQU Y8, (DX)

// NEXTGROUP goes on with the next group: R9 moves by two pointers, R10 by one.
#define NEXTGROUP(again) \
	ADDQ $16, R9; \
	ADDQ $8, R10; \
	DECQ R11; \
	JNZ again

#define BEGINGROUPS \
	MOVQ DI, R9; \
	MOVQ DI, R10; \
	MOVQ P_GROUPS(DI), R11

// REGISTER puts the address of a register, the one that the list in SI has at, into the wideProduct at to(DI). CX is the first register.
#define REGISTER(at, to) \
	MOVLQSX (4*at)(SI), AX; \
	SHLQ $7, AX; \
	ADDQ CX, AX; \
	MOVQ AX, to(DI)

#define FOURREGISTERS(at, to) \
	REGISTER((at), (to)); \
	REGISTER((at+1), (to+8)); \
	REGISTER((at+2), (to+16)); \
	REGISTER((at+3), (to+24))

// func productOfHalves(r *Regs, v *int32, groups int)
TEXT ·productOfHalves(SB), 0, $1232-24
	MOVQ r+0(FP), AX
	MOVQ (AX), CX
	MOVQ v+8(FP), SI
	MOVQ groups+16(FP), R11
	LEAQ 1056(SP), DI // the wideProduct, behind the room
	FOURREGISTERS(0, P_D)
	CMPQ R11, $2
	JNE one
	FOURREGISTERS(4, P_A)
	REGISTER(8, P_B)
	REGISTER(9, (P_B+8))
	FOURREGISTERS(10, P_C)
	JMP begin

one:
	REGISTER(4, P_A)
	REGISTER(5, (P_A+8))
	REGISTER(6, P_B)
	FOURREGISTERS(7, P_C)

begin:
	ROOM
	LOADC(SUMS)
	MOVQ DI, R9
	MOVQ DI, R10

group:
	GROUPA(HALVES)
	MOVQ P_B(R10), AX
	COLUMNS16
	ALL(HALVES)
	TURN
	BEGINROWS

row:
	FOUREXACT(row)
	NEXTGROUP(group)
	STORED
	VZEROUPPER
	RET

#define ROWOFHALVES(i, to) \
	VCVTPH2PS (16*i)(AX), Y0; \
	VPERMPS Y0, Y15, Y0; \
	VMOVUPS Y0, (to+32*i)(R8)

#define EIGHTOFHALVES(from, to) \
	MOVQ from(DI), AX; \
	ROWOFHALVES(0, to); \
	ROWOFHALVES(1, to); \
	ROWOFHALVES(2, to); \
	ROWOFHALVES(3, to); \
	ROWOFHALVES(4, to); \
	ROWOFHALVES(5, to); \
	ROWOFHALVES(6, to); \
	ROWOFHALVES(7, to)

#define ROWTOHALVES(i, from) \
	VMOVUPS (from+32*i)(R8), Y0; \
	VCMPPS $3, Y0, Y0, Y1; \
	VBLENDVPS Y1, Y15, Y0, Y0; \
	VPERMPS Y0, Y14, Y0; \
	VCVTPS2PH $0, Y0, (16*i)(AX)

#define EIGHTTOHALVES(to, from) \
	MOVQ to(DI), AX; \
	ROWTOHALVES(0, from); \
	ROWTOHALVES(1, from); \
	ROWTOHALVES(2, from); \
	ROWTOHALVES(3, from); \
	ROWTOHALVES(4, from); \
	ROWTOHALVES(5, from); \
	ROWTOHALVES(6, from); \
	ROWTOHALVES(7, from)

// func productToHalves(p *wideProduct)
TEXT ·productToHalves(SB), 0, $1056-8
	MOVQ p+0(FP), DI
	ROOM
	VMOVDQU apart<>(SB), Y15
	EIGHTOFHALVES((P_C), (SUMS))
	EIGHTOFHALVES((P_C+8), (SUMS+256))
	BEGINGROUPS

group:
	GROUPA(HALVES)
	MOVQ P_B(R10), AX
	COLUMNS16
	ALL(HALVES)
	TURN
	BEGINROWS

row:
	FOUREXACT(row)
	NEXTGROUP(group)
	VBROADCASTSS nan32s<>(SB), Y15
	VMOVDQU together<>(SB), Y14
	EIGHTTOHALVES((P_D), (SUMS))
	EIGHTTOHALVES((P_D+8), (SUMS+256))
	VZEROUPPER
	RET

// func productOfBrains(p *wideProduct)
TEXT ·productOfBrains(SB), 0, $1056-8
	MOVQ p+0(FP), DI
	ROOM
	LOADC(SUMS)
	BEGINGROUPS

group:
	GROUPA(BRAINS)
	MOVQ P_B(R10), AX
	COLUMNS16
	ALL(BRAINS)
	TURN
	BEGINROWS

row:
	ROUNDED
	NEXTROW(row)
	NEXTGROUP(group)
	STORED
	VZEROUPPER
	RET

// ROWOFWORDS joins four k of one register with four of another.
#define ROWOFWORDS(i, to) \
	VMOVUPS (16*i)(AX), X0; \
	VINSERTF128 $1, (16*i)(BX), Y0, Y0; \
	VANDPS Y15, Y0, Y0; \
	VMOVUPS Y0, (to+32*i)(R8)

#define EIGHTOFWORDS(first, last, to) \
	MOVQ first(DI), AX; \
	MOVQ last(DI), BX; \
	ROWOFWORDS(0, to); \
	ROWOFWORDS(1, to); \
	ROWOFWORDS(2, to); \
	ROWOFWORDS(3, to); \
	ROWOFWORDS(4, to); \
	ROWOFWORDS(5, to); \
	ROWOFWORDS(6, to); \
	ROWOFWORDS(7, to)

// func productOfWords(p *wideProduct)
TEXT ·productOfWords(SB), 0, $1056-8
	MOVQ p+0(FP), DI
	ROOM
	LOADC(SUMS)
	VBROADCASTSS words<>(SB), Y15
	EIGHTOFWORDS((P_A), (P_A+16), 0)
	EIGHTOFWORDS((P_A+8), (P_A+24), 256)
	MOVQ P_B(DI), AX
	MOVQ (P_B+8)(DI), BX
	VANDPS (AX), Y15, Y0
	VANDPS 32(AX), Y15, Y1
	VANDPS 64(AX), Y15, Y2
	VANDPS 96(AX), Y15, Y3
	VANDPS (BX), Y15, Y4
	VANDPS 32(BX), Y15, Y5
	VANDPS 64(BX), Y15, Y6
	VANDPS 96(BX), Y15, Y7
	TURN
	BEGINROWS

row:
	ROUNDED
	NEXTROW(row)
	STORED
	VZEROUPPER
	RET

#define ROWOFSUMS(i, from) \
	VMOVDQU (from+32*i)(R8), Y0; \
	VMOVDQU X0, (16*i)(AX); \
	VEXTRACTI128 $1, Y0, (16*i)(BX)

// SATURATE adds a row of products to one of C. Where both have the sign that the sum has not, it is the largest or the least number.
#define SATURATE(i, from) \
	VMOVDQU (from+32*i)(R8), Y0; \
	VMOVDQU (from+KEPT-SUMS+32*i)(R8), Y1; \
	VPADDD Y1, Y0, Y2; \
	VPXOR Y2, Y0, Y0; \
	VPXOR Y2, Y1, Y3; \
	VPAND Y3, Y0, Y0; \
	VPSRAD $31, Y1, Y1; \
	VPXOR Y15, Y1, Y1; \
	VBLENDVPS Y0, Y1, Y2, Y0; \
	VMOVDQU X0, (16*i)(AX); \
	VEXTRACTI128 $1, Y0, (16*i)(BX)

#define EIGHTWHOLE(OP, even, odd, from) \
	MOVQ even(DI), AX; \
	MOVQ odd(DI), BX; \
	OP(0, from); \
	OP(1, from); \
	OP(2, from); \
	OP(3, from); \
	OP(4, from); \
	OP(5, from); \
	OP(6, from); \
	OP(7, from)

// func productOfBytes(p *wideProduct)
TEXT ·productOfBytes(SB), 0, $1568-8
	MOVQ p+0(FP), DI
	ROOM
	BEGINGROUPS
	MOVQ P_FLAGS(DI), R12
	TESTQ $4, R12
	JNZ apartC
	LOADC(SUMS)
	JMP group

apartC:
	LOADC(KEPT)
	VPXOR Y0, Y0, Y0
	LEAQ SUMS(R8), DX
	MOVL $16, CX

zero:
	VMOVDQU Y0, (DX)
	ADDQ $32, DX
	DECL CX
	JNZ zero

group:
	TESTQ $1, R12
	JZ unsignedA
	GROUPA(SIGNED)
	JMP columns

unsignedA:
	GROUPA(UNSIGNED)

columns:
	MOVQ P_B(R10), AX
	COLUMNS16
	TESTQ $2, R12
	JZ unsignedB
	ALL(SIGNED)
	JMP turn

unsignedB:
	ALL(UNSIGNED)

turn:
	TURN
	BEGINROWS

row:
	WHOLE
	NEXTROW(row)
	NEXTGROUP(group)
	TESTQ $4, R12
	JNZ saturate
	EIGHTWHOLE(ROWOFSUMS, (P_D), (P_D+8), (SUMS))
	EIGHTWHOLE(ROWOFSUMS, (P_D+16), (P_D+24), (SUMS+256))
	VZEROUPPER
	RET

saturate:
	VPBROADCASTD most32<>(SB), Y15
	EIGHTWHOLE(SATURATE, (P_D), (P_D+8), (SUMS))
	EIGHTWHOLE(SATURATE, (P_D+16), (P_D+24), (SUMS+256))
	VZEROUPPER
	RET

// TURN64 makes of four columns of four k in Y8 to Y11 the rows a to d.
#define TURN64(a, b, c, d) \
	VUNPCKLPD Y9, Y8, Y12; \
	VUNPCKHPD Y9, Y8, Y13; \
	VUNPCKLPD Y11, Y10, Y14; \
	VUNPCKHPD Y11, Y10, Y15; \
	VPERM2F128 $0x20, Y14, Y12, a; \
	VPERM2F128 $0x20, Y15, Y13, b; \
	VPERM2F128 $0x31, Y14, Y12, c; \
	VPERM2F128 $0x31, Y15, Y13, d

#define ROWC64(i, to) \
	VMOVUPD (32*i)(AX), Y0; \
	VMOVUPD (32*i)(BX), Y1; \
	VMOVUPD Y0, (to+64*i)(R8); \
	VMOVUPD Y1, (to+64*i+32)(R8)

#define ROWD64(i, from) \
	VMOVUPD (from+64*i)(R8), Y0; \
	VMOVUPD (from+64*i+32)(R8), Y1; \
	VCMPPD $3, Y0, Y0, Y2; \
	VBLENDVPD Y2, Y15, Y0, Y0; \
	VCMPPD $3, Y1, Y1, Y2; \
	VBLENDVPD Y2, Y15, Y1, Y1; \
	VMOVUPD Y0, (32*i)(AX); \
	VMOVUPD Y1, (32*i)(BX)

// EIGHT64 adds four products each to eight rows: R9 has the register of A, DX the sums.
#define EIGHT64(from, again) \
	MOVQ from(R9), SI; \
	MOVL $8, CX; \
again: \
	VMOVUPD (DX), Y8; \
	VMOVUPD 32(DX), Y9; \
	VBROADCASTSD (SI), Y10; \
	VFMADD231PD Y0, Y10, Y8; \
	VFMADD231PD Y4, Y10, Y9; \
	VBROADCASTSD 8(SI), Y11; \
	VFMADD231PD Y1, Y11, Y8; \
	VFMADD231PD Y5, Y11, Y9; \
	VBROADCASTSD 16(SI), Y12; \
	VFMADD231PD Y2, Y12, Y8; \
	VFMADD231PD Y6, Y12, Y9; \
	VBROADCASTSD 24(SI), Y13; \
	VFMADD231PD Y3, Y13, Y8; \
	VFMADD231PD Y7, Y13, Y9; \
	VMOVUPD Y8, (DX); \
	VMOVUPD Y9, 32(DX); \
	ADDQ $32, SI; \
	ADDQ $64, DX; \
	DECL CX; \
	JNZ again

// func productOfDoubles(p *wideProduct)
TEXT ·productOfDoubles(SB), 0, $1056-8
	MOVQ p+0(FP), DI
	ROOM
	EIGHTWHOLE(ROWC64, (P_C), (P_C+8), 0)
	MOVQ P_FLAGS(DI), R12
	TESTQ $1, R12
	JZ begin
	EIGHTWHOLE(ROWC64, (P_C+16), (P_C+24), 512)

begin:
	BEGINGROUPS

group:
	MOVQ P_B(R10), AX
	VMOVUPD (AX), Y8
	VMOVUPD 64(AX), Y9
	VMOVUPD 128(AX), Y10
	VMOVUPD 192(AX), Y11
	TURN64(Y0, Y1, Y2, Y3)
	VMOVUPD 32(AX), Y8
	VMOVUPD 96(AX), Y9
	VMOVUPD 160(AX), Y10
	VMOVUPD 224(AX), Y11
	TURN64(Y4, Y5, Y6, Y7)
	MOVQ R8, DX
	EIGHT64(P_A, upper)
	TESTQ $1, R12
	JZ next
	EIGHT64((P_A+8), lower)

next:
	NEXTGROUP(group)
	VBROADCASTSD nan64s<>(SB), Y15
	EIGHTWHOLE(ROWD64, (P_D), (P_D+8), 0)
	TESTQ $1, R12
	JZ done
	EIGHTWHOLE(ROWD64, (P_D+16), (P_D+24), 512)

done:
	VZEROUPPER
	RET
