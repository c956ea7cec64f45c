package probe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

var (
	testKey     = []byte("0123456789abcdef")
	testSession = sessionID{1, 2, 3, 4, 5, 6, 7, 8}
)

func answerPacket() packet {
	return packet{
		kind: kindAnswer, flags: flagKernelT2 | flagKernelSoon, session: testSession, from: 3, to: 70000, fromRun: 0x1122334455667788,
		toRun: 0x99aabbccddeeff00, seq: 9, answers: 8, t2: 1_760_000_000_000_000_001, t3: 1_760_000_000_000_000_777,
		followUps: [followUps]followUp{{7, 1_760_000_000_000_000_333}, {5, 1_760_000_000_000_000_222}},
	}
}

// The layout is that of docs/formats/probe-packets.md, byte by byte: other programs may speak it.
func TestThePacketIsLaidOutAsDocumented(t *testing.T) {
	p := answerPacket()
	var b [packetSize]byte
	p.put(b[:], newSigner(testKey))
	want := "70726c78" + "01" + "02" + "03" + "00" + "0102030405060708" + "00000003" + "00011170" +
		"1122334455667788" + "99aabbccddeeff00" + "00000009" + "00000008" +
		"186cc6acd4b00001" + "186cc6acd4b00309" +
		"00000007" + "00000000" + "186cc6acd4b0014d" + "00000005" + "00000000" + "186cc6acd4b000de"
	if got := hex.EncodeToString(b[:96]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mac := hmac.New(sha256.New, testKey)
	mac.Write(b[:96])
	if got, want := hex.EncodeToString(b[96:]), hex.EncodeToString(mac.Sum(nil)[:16]); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestAPacketIsReadAsItWasWritten(t *testing.T) {
	want := answerPacket()
	var b [packetSize]byte
	want.put(b[:], newSigner(testKey))
	var got packet
	if why := got.read(b[:], testSession, newSigner(testKey)); why != taken || got != want {
		t.Errorf("%v: got %+v, want %+v", why, got, want)
	}
}

func TestPacketsOfOthersAreRefused(t *testing.T) {
	var good [packetSize]byte
	p := answerPacket()
	p.put(good[:], newSigner(testKey))
	resign := func(edit func(b []byte)) []byte {
		b := append([]byte(nil), good[:]...)
		edit(b)
		copy(b[signed:], newSigner(testKey).of(b[:signed]))
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want refusal
	}{
		"empty":                  {nil, malformed},
		"short":                  {good[:packetSize-1], malformed},
		"long":                   {append(good[:], 0), malformed},
		"not ours":               {append([]byte("PRLX"), good[4:]...), malformed},
		"another version":        {resign(func(b []byte) { b[4] = 2 }), malformed},
		"another session":        {resign(func(b []byte) { b[15]++ }), foreign},
		"unknown kind":           {resign(func(b []byte) { b[5] = 3 }), malformed},
		"unknown flag":           {resign(func(b []byte) { b[6] |= 4 }), malformed},
		"reserved byte":          {resign(func(b []byte) { b[7] = 1 }), malformed},
		"reserved bytes":         {resign(func(b []byte) { b[71] = 1 }), malformed},
		"no number":              {resign(func(b []byte) { copy(b[40:44], []byte{0, 0, 0, 0}) }), malformed},
		"answers nothing":        {resign(func(b []byte) { copy(b[44:48], []byte{0, 0, 0, 0}) }), malformed},
		"no process":             {resign(func(b []byte) { copy(b[24:32], make([]byte, 8)) }), malformed},
		"to itself":              {resign(func(b []byte) { copy(b[20:24], b[16:20]) }), malformed},
		"arrived before 1970":    {resign(func(b []byte) { b[48] = 0x80 }), malformed},
		"a probe with an answer": {resign(func(b []byte) { b[5] = kindProbe }), malformed},
	} {
		var got packet
		if why := got.read(c.b, testSession, newSigner(testKey)); why != c.want {
			t.Errorf("%s: refused as %d, want %d", name, why, c.want)
		}
	}
	var got packet
	if why := got.read(good[:], testSession, newSigner([]byte("another key 1234"))); why != forged {
		t.Errorf("another key: %d", why)
	}
	for i := range good { // any bit that changes on the way
		b := append([]byte(nil), good[:]...)
		b[i] ^= 0x10
		if why := got.read(b, testSession, newSigner(testKey)); why == taken {
			t.Errorf("byte %d changed, and taken", i)
		}
	}
}

func TestTheWindowTakesEveryNumberOnce(t *testing.T) {
	var w window
	for _, s := range []uint32{1, 2, 5, 4, 3, 70, 69, 7, 8, 200} {
		if !w.take(s) {
			t.Errorf("%d is new and was not taken", s)
		}
		if w.take(s) {
			t.Errorf("%d was taken twice", s)
		}
	}
	if w.take(136) {
		t.Error("136 is 64 behind and was taken")
	}
	if !w.take(137) {
		t.Error("137 is 63 behind and new")
	}
	if !w.take(1<<32 - 1) {
		t.Error("the largest number was not taken")
	}
}

// FuzzPacket: whatever arrives, the reader ends, and what it takes is written back as the same bytes.
func FuzzPacket(f *testing.F) {
	var b [packetSize]byte
	p := answerPacket()
	p.put(b[:], newSigner(testKey))
	f.Add(b[:], false)
	q := packet{kind: kindProbe, session: testSession, from: 0, to: 1, fromRun: 5, seq: 1}
	q.put(b[:], newSigner(testKey))
	f.Add(b[:], false)
	f.Add(b[:], true)
	f.Add([]byte{}, true)
	f.Add(make([]byte, packetSize), true)
	f.Fuzz(func(t *testing.T, b []byte, sign bool) {
		s := newSigner(testKey)
		if sign && len(b) == packetSize { // most of the reader is behind the signature
			copy(b[8:16], testSession[:])
			copy(b[signed:], s.of(b[:signed]))
		}
		var got packet
		if got.read(b, testSession, s) != taken {
			return
		}
		var again [packetSize]byte
		got.put(again[:], s)
		if string(again[:]) != string(b) {
			t.Errorf("read %x, written again %x", b, again)
		}
	})
}
