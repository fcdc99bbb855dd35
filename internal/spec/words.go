package spec

import (
	"fmt"
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tool is the namespace of the directives.
const Tool = "idem"

// Directive is one directive comment: //idem:name and its words.
type Directive struct {
	Name  string
	Pos   token.Position // of the slashes
	Words []Word
	// Spoilt says that a part of the arguments could not be read, which has
	// been reported: what seems to be missing may be there.
	Spoilt bool
}

// Word is one argument of a directive: a positional word, or key=value.
type Word struct {
	Key      string         // "" for a positional word
	Text     string         // the value, without quotes
	Pos      token.Position // of the word
	ValuePos token.Position // of the value
}

// SplitWords splits the arguments of a directive at white space. A word, or
// the value of key=value, may be a Go string in double or back quotes, so that
// it can hold spaces. at is the position of the first byte of args.
//
// Problems are about quoting; the words around them are still returned. What
// follows a quote that never ends belongs to it.
func SplitWords(args string, at token.Position) ([]Word, Problems) {
	var words []Word
	var problems Problems
	rest := args
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			return words, problems
		}
		word := Word{Pos: shift(at, len(args)-len(rest))}
		if key := leadingKey(rest); key != "" {
			word.Key = key
			rest = rest[len(key)+1:]
		}
		word.ValuePos = shift(at, len(args)-len(rest))
		text, length, err := takeValue(rest)
		rest = rest[length:]
		if err != nil {
			problems = append(problems, Problem{Pos: word.Pos, Code: CodeQuoting, Message: err.Error()})
			continue
		}
		word.Text = text
		words = append(words, word)
	}
}

// leadingKey returns the key of key=value, or "" when s begins with no such
// word. Upper-case letters are taken too: the caller says what was meant.
func leadingKey(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch {
		case letter, i > 0 && (c == '_' || c == '-' || c >= '0' && c <= '9'):
		case c == '=' && i > 0:
			return s[:i]
		default:
			return ""
		}
	}
	return ""
}

// takeValue takes one value from the beginning of s and returns it without
// quotes, and how many bytes of s it used.
func takeValue(s string) (text string, length int, err error) {
	word := s
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		word = s[:end]
	}
	if s == "" || s[0] != '"' && s[0] != '`' {
		return word, len(word), nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", len(s), fmt.Errorf("%s is not a quoted string: the closing quote is missing or an escape is wrong", strings.TrimSpace(s))
	}
	after, _ := utf8.DecodeRuneInString(s[len(quoted):])
	if len(quoted) < len(s) && !unicode.IsSpace(after) {
		end := len(s)
		if space := strings.IndexFunc(s[len(quoted):], unicode.IsSpace); space >= 0 {
			end = len(quoted) + space
		}
		return "", end, fmt.Errorf("%s goes on after the closing quote: a quoted value ends before a space", s[:end])
	}
	// QuotedPrefix has found the string valid.
	text, _ = strconv.Unquote(quoted)
	return text, len(quoted), nil
}

// items splits a word's value at commas, each item with its own position.
func (w Word) items() []Item {
	var items []Item
	offset := 0
	for part := range strings.SplitSeq(w.Text, ",") {
		items = append(items, Item{Text: part, Pos: shift(w.ValuePos, offset)})
		offset += len(part) + len(",")
	}
	return items
}

// shift moves a position by n bytes on its line.
func shift(pos token.Position, n int) token.Position {
	pos.Offset += n
	pos.Column += n
	return pos
}
