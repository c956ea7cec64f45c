package nccl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAFullDiskThatWritesElsewhereRaisesNoSignal: Btrfs needs new room for what was written before, so that a full one ends whoever touches a
// mapped file, unless the file stays in place. In the long runs, where there are root and mkfs.btrfs.
func TestAFullDiskThatWritesElsewhereRaisesNoSignal(t *testing.T) {
	mkfs, err := exec.LookPath("mkfs.btrfs")
	if !corpus() || err != nil || os.Getuid() != 0 {
		t.Skip("of the long runs, where there are root and mkfs.btrfs")
	}
	b := build(t)
	dir := t.TempDir()
	mount, image := filepath.Join(dir, "mount"), filepath.Join(dir, "image")
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 300<<20); err != nil {
		t.Fatal(err)
	}
	if err := run(mkfs, "-q", image); err != nil {
		t.Fatal(err)
	}
	// A namespace of its own: the mount ends with it.
	const script = `mount -o loop "$1" "$2" || exit 77
"$3" "$4" paced 1 1000000 8 & played=$!
sleep 2; sync
for k in 1 2 3; do dd if=/dev/urandom of="$2/fill$k" bs=64K 2> /dev/null; sync; sleep 1; done
wait $played`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", image, mount, b.replay, b.plugin)
	cmd.Env = b.command(mount, []string{"PRLX_NCCL_MAX_BYTES=64M"}).Env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skipf("file systems cannot be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
