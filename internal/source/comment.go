package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
)

// reading is what one comment says to idemgen.
type reading struct {
	// directive is valid when ok is true.
	directive spec.Directive
	ok        bool
	// problems are about the comment's form. A comment that was meant as a
	// directive but is none has problems and is not ok.
	problems spec.Problems
}

// silent reports whether the comment says nothing to idemgen.
func (r reading) silent() bool { return !r.ok && len(r.problems) == 0 }

// readComment reads one comment, which is one line, or a block, with its
// delimiters. pos is where it begins.
func readComment(text string, pos token.Position) reading {
	if strings.HasPrefix(text, "/*") {
		return readBlock(text, pos)
	}
	d, ok := ast.ParseDirective(1, text)
	if !ok || d.Tool != spec.Tool {
		return readNearMiss(text, pos)
	}
	// The position 1 of the comment makes ArgsPos count from there.
	at := pos
	at.Offset += int(d.ArgsPos) - 1
	at.Column += int(d.ArgsPos) - 1
	words, problems := spec.SplitWords(d.Args, at)
	for i := range problems {
		problems[i].Message = spec.Tool + ":" + d.Name + ": " + problems[i].Message
	}
	return reading{
		directive: spec.Directive{Name: d.Name, Pos: pos, Words: words, Spoilt: len(problems) > 0},
		ok:        true,
		problems:  problems,
	}
}

var (
	// colonForm is a comment line that begins like a directive: its groups
	// are the space after the slashes, the tool, the space before and after
	// the colon, and the first word.
	colonForm = regexp.MustCompile(`^//(\s*)([A-Za-z0-9_-]+)(\s*):(\s*)(\S*)`)
	// noColonForm is a directive with something else for its colon.
	noColonForm = regexp.MustCompile(`^//(?i:idem|idemgen)[\s._/-]+([a-z]+)(?:\s|$)`)
	// nameForm is a first word that could be a directive's name.
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	// blockLine is a line of a block comment that begins like a directive.
	blockLine = regexp.MustCompile(`^[\s*/]*(?i:idem)\s*:\s*([A-Za-z0-9_-]+)(?:\s|\*/|$)`)
)

// readNearMiss finds line comments that were meant as directives. Prose that
// mentions a directive is silent: only the beginning of the line counts, and a
// word of prose after "idem:" is no directive's name.
func readNearMiss(text string, pos token.Position) reading {
	if match := noColonForm.FindStringSubmatch(text); match != nil && isKnown(match[1]) {
		return broken(pos, spec.CodeSpaced, "this is a comment, not a directive: write //%s:%s", spec.Tool, match[1])
	}
	match := colonForm.FindStringSubmatch(text)
	if match == nil {
		return reading{}
	}
	before, tool, beforeColon, afterColon, name := match[1], match[2], match[3], match[4], match[5]
	lower := strings.ToLower(name)
	spaced := before != "" || beforeColon != "" || afterColon != ""
	switch {
	case !strings.EqualFold(tool, spec.Tool):
		if isToolSlip(tool) && !spaced && isKnown(lower) {
			return broken(pos, spec.CodeUnknown, "unknown directive //%s:%s (did you mean //%s:%s?)", tool, name, spec.Tool, lower)
		}
		return reading{}
	case !spaced && name == "", spaced && before+beforeColon == "" && !isKnown(lower):
		return broken(pos, spec.CodeUnknown, "//%s: names no directive: the directives are %s", tool, strings.Join(spec.Names(), ", "))
	case !spaced && tool != spec.Tool:
		return broken(pos, spec.CodeUpperCase, "//%s:%s is not a directive: its names are lower case, write //%s:%s", tool, name, spec.Tool, nearest(lower))
	case !spaced:
		// ParseDirective refuses names that begin with anything but a small
		// letter or a digit.
		if near := spec.Suggest(lower, spec.Names()); near != "" {
			return broken(pos, spec.CodeUpperCase, "//%s:%s is not a directive: its names are lower case, write //%s:%s", tool, name, spec.Tool, near)
		}
		return broken(pos, spec.CodeUnknown, "%s", spec.UnknownDirective(name))
	case isKnown(lower), afterColon == "" && nameForm.MatchString(name) && spec.Suggest(lower, spec.Names()) != "":
		return broken(pos, spec.CodeSpaced, "this is a comment, not a directive: write //%s:%s without spaces after the slashes and around the colon", spec.Tool, nearest(lower))
	default:
		return reading{}
	}
}

// readBlock finds block comments that were meant as directives: the first
// thing in them, or a line of its own further down.
func readBlock(text string, pos token.Position) reading {
	for i, line := range strings.Split(text, "\n") {
		match := blockLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := strings.ToLower(match[1])
		if !isKnown(name) && (i > 0 || spec.Suggest(name, spec.Names()) == "") {
			continue
		}
		if i > 0 {
			pos.Line += i
			pos.Column = 1 + len(line) - len(strings.TrimLeft(line, " \t*"))
		}
		return broken(pos, spec.CodeBlock, "a block comment cannot hold a directive: write //%s:%s on a line of its own", spec.Tool, nearest(name))
	}
	return reading{}
}

func broken(pos token.Position, code spec.Code, format string, args ...any) reading {
	return reading{problems: spec.Problems{{Pos: pos, Code: code, Message: fmt.Sprintf(format, args...)}}}
}

func isKnown(name string) bool { return slices.Contains(spec.Names(), name) }

// nearest is the directive's name that was meant, or the name itself.
func nearest(name string) string {
	if near := spec.Suggest(name, spec.Names()); near != "" {
		return near
	}
	return name
}

// isToolSlip reports whether a tool's name is a slip of ours.
func isToolSlip(tool string) bool {
	lower := strings.ToLower(tool)
	return lower == "idemgen" || spec.Suggest(lower, []string{spec.Tool}) != ""
}
