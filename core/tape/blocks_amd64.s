//go:build amd64

#include "textflag.h"

DATA mixes<>+0(SB)/8, $0xD6E8FEB86659FD93
GLOBL mixes<>(SB), RODATA|NOPTR, $8
DATA steps<>+0(SB)/8, $0x9E3779B97F4A7C15 // 1, 2, 3 and 4 times the step
DATA steps<>+8(SB)/8, $0x3C6EF372FE94F82A
DATA steps<>+16(SB)/8, $0xDAA66D2C7DDF743F
DATA steps<>+24(SB)/8, $0x78DDE6E5FD29F054
GLOBL steps<>(SB), RODATA|NOPTR, $32
DATA magnitudes64<>+0(SB)/8, $0x7FFFFFFFFFFFFFFF
GLOBL magnitudes64<>(SB), RODATA|NOPTR, $8
DATA magnitudes32<>+0(SB)/8, $0x7FFFFFFF7FFFFFFF
GLOBL magnitudes32<>(SB), RODATA|NOPTR, $8
DATA magnitudes16<>+0(SB)/8, $0x7FFF7FFF7FFF7FFF
GLOBL magnitudes16<>(SB), RODATA|NOPTR, $8

// BEGIN loads the arguments, and what a loop starts from: SI is at the bytes, CX counts blocks of 32 of them, Y13 is what is added to their words,
// Y15 and Y14 are the two halves of the multiplier. Y9 sums up the digest, Y10 the largest magnitudes, Y5 to Y8 the elements.
#define BEGIN(mask) \
	MOVQ b+0(FP), SI; \
	MOVQ blocks+8(FP), CX; \
	MOVQ key+16(FP), AX; \
	MOVQ found+24(FP), DI; \
	VPBROADCASTQ mixes<>(SB), Y15; \
	VPSRLQ $32, Y15, Y14; \
	VMOVDQU steps<>(SB), Y13; \
	VPERMQ $0xFF, Y13, Y12; \
	VMOVQ AX, X0; \
	VPBROADCASTQ X0, Y0; \
	VPADDQ Y0, Y13, Y13; \
	VPBROADCASTQ mask, Y11; \
	VPXOR Y10, Y10, Y10; \
	VPXOR Y9, Y9, Y9; \
	VPXOR Y8, Y8, Y8; \
	VPXOR Y7, Y7, Y7; \
	VPXOR Y6, Y6, Y6; \
	VPXOR Y5, Y5, Y5

// MIX adds the block at SI to the digest, and leaves its magnitudes in Y0.
#define MIX \
	PREFETCHT0 2048(SI); \
	VMOVDQU (SI), Y0; \
	VPADDQ Y0, Y13, Y1; \
	VPADDQ Y12, Y13, Y13; \
	VPSRLQ $32, Y1, Y2; \
	VPXOR Y2, Y1, Y1; \
	VPMULUDQ Y1, Y14, Y3; \
	VPMULUDQ Y2, Y15, Y4; \
	VPADDQ Y3, Y4, Y3; \
	VPSLLQ $32, Y3, Y3; \
	VPMULUDQ Y1, Y15, Y1; \
	VPADDQ Y3, Y1, Y1; \
	VPSRLQ $29, Y1, Y2; \
	VPXOR Y2, Y1, Y1; \
	VPADDQ Y1, Y9, Y9; \
	VPAND Y0, Y11, Y0

// ADD adds the eight float32 of a register to two sums of four.
#define ADD(x, y, low, high) \
	VCVTPS2PD x, Y4; \
	VADDPD Y4, low, low; \
	VEXTRACTF128 $1, y, x; \
	VCVTPS2PD x, Y4; \
	VADDPD Y4, high, high

#define END \
	VMOVDQU Y9, (DI); \
	VMOVDQU Y10, 32(DI); \
	VMOVUPD Y8, 64(DI); \
	VMOVUPD Y7, 96(DI); \
	VMOVUPD Y6, 128(DI); \
	VMOVUPD Y5, 160(DI); \
	VZEROUPPER; \
	RET

// func wideSingle(b *byte, blocks int, key uint64, found *wideTally)
TEXT ·wideSingle(SB), NOSPLIT, $0-32
	BEGIN(magnitudes32<>(SB))

more:
	MIX
	VPMAXUD Y0, Y10, Y10
	VCVTPS2PD (SI), Y2
	VCVTPS2PD 16(SI), Y3
	VADDPD Y2, Y8, Y8
	VADDPD Y3, Y7, Y7
	ADDQ $32, SI
	DECQ CX
	JNZ more
	END

// func wideDouble(b *byte, blocks int, key uint64, found *wideTally)
TEXT ·wideDouble(SB), NOSPLIT, $0-32
	BEGIN(magnitudes64<>(SB))

more:
	MIX
	VPCMPGTQ Y10, Y0, Y2
	VBLENDVPD Y2, Y0, Y10, Y10
	VADDPD (SI), Y8, Y8
	ADDQ $32, SI
	DECQ CX
	JNZ more
	END

// func wideHalf(b *byte, blocks int, key uint64, found *wideTally)
TEXT ·wideHalf(SB), NOSPLIT, $0-32
	BEGIN(magnitudes16<>(SB))

more:
	MIX
	VPMAXUW Y0, Y10, Y10
	VCVTPH2PS (SI), Y2
	VCVTPH2PS 16(SI), Y3
	ADD(X2, Y2, Y8, Y7)
	ADD(X3, Y3, Y6, Y5)
	ADDQ $32, SI
	DECQ CX
	JNZ more
	END

// func wideBrain(b *byte, blocks int, key uint64, found *wideTally)
TEXT ·wideBrain(SB), NOSPLIT, $0-32
	BEGIN(magnitudes16<>(SB))

more:
	MIX
	VPMAXUW Y0, Y10, Y10
	VPMOVZXWD (SI), Y2
	VPMOVZXWD 16(SI), Y3
	VPSLLD $16, Y2, Y2
	VPSLLD $16, Y3, Y3
	ADD(X2, Y2, Y8, Y7)
	ADD(X3, Y3, Y6, Y5)
	ADDQ $32, SI
	DECQ CX
	JNZ more
	END
