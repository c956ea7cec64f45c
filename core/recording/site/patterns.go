package site

// ParsePatterns reads patterns of sites.
func ParsePatterns(texts []string) ([]Pattern, error) {
	var out []Pattern
	for _, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
