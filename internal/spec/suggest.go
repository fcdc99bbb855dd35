package spec

import (
	"fmt"
	"strings"
)

// Suggest returns the candidate that a reader most likely meant by word, or ""
// when none is near. Near is a distance of at most 2 (1 for words of up to
// four letters), letters' case aside, or a beginning of at least three letters.
// Of equally near candidates the first wins.
func Suggest(word string, candidates []string) string {
	lower := strings.ToLower(word)
	limit := 2
	if len(lower) <= 4 {
		limit = 1
	}
	best, nearest := "", limit+1
	for _, candidate := range candidates {
		d := distance(lower, strings.ToLower(candidate))
		if d < nearest {
			best, nearest = candidate, d
		}
	}
	if best != "" || len(lower) < 3 {
		return best
	}
	for _, candidate := range candidates {
		if strings.HasPrefix(strings.ToLower(candidate), lower) {
			return candidate
		}
	}
	return ""
}

// distance counts the letters to insert, delete, change or swap with their
// neighbour that lead from a to b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int
	above := make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(t)+1)
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := above[j-1]
			if s[i-1] != t[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(t)]
}

// didYouMean ends a message about an unknown word: with the word that was
// meant when one is near, and otherwise with all of them. Numbers are near to
// each other without being meant.
func didYouMean(word string, candidates []string) string {
	number := strings.Trim(word, "0123456789") == ""
	if near := Suggest(word, candidates); near != "" && !number {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ": use " + orList(candidates)
}

// orList writes "a", "a or b", "a, b or c".
func orList(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}
