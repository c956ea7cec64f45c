package warptrace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
)

// Texts is the text of a kernel as it was when the kernel was compiled, whatever became of its files since.
type Texts struct {
	Functions []Text     // the kernel itself first, then the functions of its user that it calls
	Constants []Constant // what the kernel was compiled for: constexprs, warps, stages
	Code      Text       // what was compiled of it: PTX without debug information, of the function of this name; empty: not held
}

// Text is the text of one function. Recordings of a session name it by its digest, and the session holds it once.
type Text struct {
	File      string // as the frames of sites spell it
	Function  string
	FirstLine uint32   // number of the first line, 1-based; decorators count
	Digest    [32]byte // SHA-256 of Text
	Text      string   // "" where it was not found: TextsFolder is not there, or what is in it was changed
}

// Constant is a value that a kernel was compiled for.
type Constant struct {
	Name  string // of the argument, or of the option: "num_warps", "num_stages"
	Value string
}

// What Texts hold at most.
const (
	maxTexts     = 1 << 12
	MaxTextBytes = 4 << 20 // of one text
	maxConstants = 1 << 12
)

// TextsFolder is the folder beside the recordings of a session that holds their texts, each once, under the name that TextName gives.
const TextsFolder = "sources"

// TextName is the name of the file with a text in TextsFolder: the digest in hexadecimal. The file is one zstd frame.
func TextName(digest [32]byte) string { return hex.EncodeToString(digest[:]) + ".zst" }

// DigestOfText is the digest that names a text.
func DigestOfText(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// PackText is what the file with a text in TextsFolder holds.
func PackText(text string) ([]byte, error) {
	enc, err := encoderOf(zstd.SpeedDefault)
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll([]byte(text), nil), nil
}

// Texts says what the recording knows of the text of its kernel; nil where it knows nothing: it is of format v1, of an older prlx, of a
// kernel without a source, or texts were left out. Texts that the file names and does not hold are read from TextsFolder beside it.
func (t *Trace) Texts(ctx context.Context) (*Texts, error) {
	v, ok := t.rec.(*v2)
	if !ok {
		return nil, nil
	}
	texts, err := v.texts(ctx)
	if err != nil || texts == nil {
		return nil, err
	}
	beside(texts, filepath.Join(filepath.Dir(t.Path()), TextsFolder))
	return texts, nil
}

// beside fills in the texts that a folder holds. What is missing or is not what its name says stays empty: a recording can be read
// without its texts.
func beside(texts *Texts, folder string) {
	var root *os.Root
	all := make([]*Text, 0, len(texts.Functions)+1)
	for i := range texts.Functions {
		all = append(all, &texts.Functions[i])
	}
	for _, f := range append(all, &texts.Code) {
		if f.Text != "" || f.Digest == [32]byte{} {
			continue
		}
		if root == nil {
			var err error
			if root, err = os.OpenRoot(folder); err != nil {
				return
			}
			defer root.Close()
		}
		if text, err := readText(root, TextName(f.Digest)); err == nil && DigestOfText(text) == f.Digest {
			f.Text = text
		}
	}
}

// readText inflates one file of a folder. Only what is a regular file is opened: opening a pipe would wait.
func readText(root *os.Root, name string) (string, error) {
	info, err := root.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxTextBytes+1024 {
		return "", fault.New(fault.Limit, "is no text of a kernel").WithPath(name)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	packed, err := io.ReadAll(io.LimitReader(f, MaxTextBytes+1024))
	if err != nil {
		return "", err
	}
	d, err := textDecoder()
	if err != nil {
		return "", err
	}
	text, err := d.DecodeAll(packed, nil)
	return string(text), err
}
