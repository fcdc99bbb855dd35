package runtime

import "strings"

// sfItem reads an item of RFC 8941 (section 4.2.3) that is a string: it returns
// the string as it stands there, in its quotes and without the item's
// parameters, which have no meaning for keys.
func sfItem(s string) (text string, ok bool) {
	s = strings.Trim(s, " ")
	end := sfStringEnd(s)
	if end < 0 || !sfParameters(s[end:]) {
		return "", false
	}
	return s[:end], true
}

// sfString reports whether s is an RFC 8941 string: printable ASCII in double
// quotes, in which a backslash escapes a quote or a backslash.
func sfString(s string) bool { return sfStringEnd(s) == len(s) }

// sfStringEnd is where the string ends with which s begins, or -1.
func sfStringEnd(s string) int {
	if s == "" || s[0] != '"' {
		return -1
	}
	for i := 1; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"':
			return i + 1
		case b < 0x20 || b > 0x7e:
			return -1
		case b == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return -1
			}
		}
	}
	return -1
}

// sfParameters reports whether s is a sequence of parameters (section 3.1.2).
func sfParameters(s string) bool {
	for s != "" {
		if s[0] != ';' {
			return false
		}
		s = strings.TrimLeft(s[1:], " ")
		n := sfSpan(s, sfIsKey)
		if n == 0 || s[0] != '*' && (s[0] < 'a' || s[0] > 'z') {
			return false
		}
		s = s[n:]
		if s == "" || s[0] != '=' {
			continue // true, by its name alone
		}
		if n = sfBareEnd(s[1:]); n <= 0 {
			return false
		}
		s = s[1+n:]
	}
	return true
}

// sfBareEnd is where the bare item ends with which s begins (section 3.3), or
// not above 0.
func sfBareEnd(s string) int {
	if s == "" {
		return -1
	}
	switch b := s[0]; {
	case b == '"':
		return sfStringEnd(s)
	case b == '?':
		if len(s) > 1 && (s[1] == '0' || s[1] == '1') {
			return 2
		}
	case b == ':':
		if end := 1 + sfSpan(s[1:], sfIsBase64); end < len(s) && s[end] == ':' {
			return end + 1
		}
	case b == '*' || isLetter(b):
		return sfSpan(s, func(b byte) bool { return b == ':' || b == '/' || validToken(string(b)) })
	case b == '-' || isDigit(b):
		return sfNumberEnd(s)
	}
	return -1
}

// sfNumberEnd is where an integer of at most 15 digits ends, or a decimal of at
// most 12 before and 3 behind the point.
func sfNumberEnd(s string) int {
	start := 0
	if s[0] == '-' {
		start = 1
	}
	whole := sfSpan(s[start:], isDigit)
	end := start + whole
	if end == len(s) || s[end] != '.' {
		if whole < 1 || whole > 15 {
			return -1
		}
		return end
	}
	fraction := sfSpan(s[end+1:], isDigit)
	if whole < 1 || whole > 12 || fraction < 1 || fraction > 3 {
		return -1
	}
	return end + 1 + fraction
}

// sfSpan is how many bytes at the beginning of s are of a kind.
func sfSpan(s string, is func(byte) bool) int {
	for i := range len(s) {
		if !is(s[i]) {
			return i
		}
	}
	return len(s)
}

func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func sfIsKey(b byte) bool {
	return b >= 'a' && b <= 'z' || isDigit(b) || strings.IndexByte("_-.*", b) >= 0
}

func sfIsBase64(b byte) bool {
	return isLetter(b) || isDigit(b) || strings.IndexByte("+/=", b) >= 0
}
