package site

import (
	"os"
	"path/filepath"
)

// parents is how many directories above are searched for a site map.
const parents = 5

// Find looks for a site map: beside the recording (dir), in its build directory or its parent's, then up to five directories above;
// after that the same from the current directory. The result is the path as found.
func Find(dir string) (path string, ok bool) {
	from := []string{dir}
	if cwd, err := os.Getwd(); err == nil {
		from = append(from, cwd)
	}
	for _, start := range from {
		if start == "" {
			continue
		}
		candidates := []string{
			filepath.Join(start, mapName), filepath.Join(start, "build", mapName), filepath.Join(start, "..", "build", mapName),
		}
		absolute, err := filepath.Abs(start)
		for range parents {
			if err != nil || absolute == filepath.Dir(absolute) {
				break
			}
			absolute = filepath.Dir(absolute)
			candidates = append(candidates, filepath.Join(absolute, mapName))
		}
		for _, c := range candidates {
			if info, err := os.Stat(c); err == nil && info.Mode().IsRegular() {
				return c, true
			}
		}
	}
	return "", false
}
