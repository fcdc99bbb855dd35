package spec

import (
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"
)

// place is where a directive may stand.
type place string

const (
	onInterface place = "interface"
	onMethod    place = "method"
	onBoth      place = "both"
)

// directiveGrammar is one directive of the grammar, read from the tags.
type directiveGrammar struct {
	name      string
	on        place
	help      string
	bare      bool // it means something without arguments
	field     int  // in arguments
	arguments []argumentGrammar
}

// argumentGrammar is one argument of a directive, read from the tags.
type argumentGrammar struct {
	arg       string // as in the tag
	key       string // of key=value; "" for positional words
	value     string // stands for the value in help texts
	one       []string
	form      string
	begins    string
	required  bool
	preset    string
	help      string
	field     int    // in the struct of the directive
	name      string // of that field
	remaining bool
}

// grammar is the grammar of all directives, in the order of [arguments].
var grammar = readGrammar()

func readGrammar() []directiveGrammar {
	var all []directiveGrammar
	t := reflect.TypeFor[arguments]()
	for i := range t.NumField() {
		field := t.Field(i)
		name, ok := field.Tag.Lookup("directive")
		if !ok {
			continue
		}
		d := directiveGrammar{name: name, on: place(field.Tag.Get("on")), help: field.Tag.Get("help"), bare: field.Tag.Get("bare") == "true", field: i}
		for j := range field.Type.NumField() {
			d.arguments = append(d.arguments, readArgument(field.Type.Field(j), j))
		}
		all = append(all, d)
	}
	return all
}

func readArgument(field reflect.StructField, index int) argumentGrammar {
	tag := field.Tag
	a := argumentGrammar{
		arg:      tag.Get("arg"),
		value:    tag.Get("value"),
		one:      strings.Fields(tag.Get("one")),
		form:     tag.Get("form"),
		begins:   tag.Get("begins"),
		required: tag.Get("required") == "true",
		preset:   tag.Get("default"),
		help:     tag.Get("help"),
		field:    index,
		name:     field.Name,
	}
	a.key, _ = strings.CutSuffix(a.arg, "=")
	if a.key == a.arg {
		a.key = ""
	}
	a.remaining = strings.HasSuffix(a.arg, "...")
	return a
}

// Names returns the names of all directives, without "idem:".
func Names() []string {
	names := make([]string, len(grammar))
	for i, d := range grammar {
		names[i] = d.name
	}
	return names
}

// UnknownDirective is the message for a name that is no directive's.
func UnknownDirective(name string) string {
	if near := Suggest(name, Names()); near != "" {
		return fmt.Sprintf("unknown directive //%s:%s (did you mean //%s:%s?)", Tool, name, Tool, near)
	}
	return fmt.Sprintf("unknown directive //%s:%s: the directives are %s", Tool, name, strings.Join(Names(), ", "))
}

// keys returns the keys of a directive's key=value arguments.
func (d directiveGrammar) keys() []string {
	var keys []string
	for _, a := range d.arguments {
		if a.key != "" {
			keys = append(keys, a.key)
		}
	}
	return keys
}

// parseArguments reads the directives of one interface or method. Directives
// of the wrong place, unknown ones and repetitions are problems; everything
// else is still read.
func parseArguments(directives []Directive, here place) (*arguments, Problems) {
	parsed := &arguments{at: map[string]token.Position{}, broken: map[string]bool{}}
	var problems Problems
	report := func(pos token.Position, code Code, other *Other, format string, args ...any) {
		problems = append(problems, Problem{Pos: pos, Code: code, Message: fmt.Sprintf(format, args...), Other: other})
	}
	for _, d := range directives {
		i := slices.IndexFunc(grammar, func(g directiveGrammar) bool { return g.name == d.Name })
		if i < 0 {
			report(d.Pos, CodeUnknown, nil, "%s", UnknownDirective(d.Name))
			continue
		}
		g := grammar[i]
		if first, again := parsed.at[d.Name]; again {
			report(d.Pos, CodeDuplicate, &Other{first, "the first one is"}, "//idem:%s stands here twice: each directive stands at most once in one place", d.Name)
			continue
		}
		parsed.at[d.Name] = d.Pos
		if g.on != onBoth && g.on != here {
			report(d.Pos, CodeWrongPlace, nil, "//idem:%s stands on %s, not on %s", d.Name, g.on.article(), here.article())
			parsed.broken[d.Name] = true
			continue
		}
		p := wordParser{grammar: g, into: reflect.ValueOf(parsed).Elem().Field(g.field)}
		p.parse(d)
		problems = append(problems, p.problems...)
		if p.unclear || d.Spoilt {
			parsed.broken[d.Name] = true
		}
		for _, a := range p.broken {
			parsed.broken[d.Name+"."+a] = true
		}
	}
	return parsed, problems
}

func (p place) article() string {
	if p == onInterface {
		return "an interface"
	}
	return "a method"
}

// wordParser reads the words of one directive into its struct.
type wordParser struct {
	grammar  directiveGrammar
	into     reflect.Value
	problems Problems
	keyed    bool   // a key=value has been read
	listKey  string // the last key=value that was a list
	stray    bool   // a word that does not belong has been reported
	// broken are the arguments whose values could not be read, and unclear
	// says that a problem is not about one argument.
	broken  []string
	unclear bool
}

// reportArgument reports a problem with the value of one argument.
func (p *wordParser) reportArgument(a argumentGrammar, pos token.Position, code Code, other *Other, format string, args ...any) {
	p.broken = append(p.broken, a.name)
	p.add(pos, code, other, format, args...)
}

// report reports a problem that leaves it open what the directive says.
func (p *wordParser) report(pos token.Position, code Code, other *Other, format string, args ...any) {
	p.unclear = true
	p.add(pos, code, other, format, args...)
}

func (p *wordParser) add(pos token.Position, code Code, other *Other, format string, args ...any) {
	message := "idem:" + p.grammar.name + ": " + fmt.Sprintf(format, args...)
	p.problems = append(p.problems, Problem{Pos: pos, Code: code, Message: message, Other: other})
}

func (p *wordParser) parse(d Directive) {
	for _, word := range d.Words {
		if word.Key != "" {
			p.keyed = true
			p.keyValue(word)
		} else {
			p.positional(word)
		}
	}
	p.none()
	if len(p.problems) > 0 || d.Spoilt {
		return
	}
	if len(d.Words) == 0 && !p.grammar.bare {
		p.report(d.Pos, CodeMissing, nil, "it says nothing: give it %s", orList(p.usages()))
		return
	}
	for _, a := range p.grammar.arguments {
		if _, given := p.given(a); a.required && !given {
			p.missing(d, a)
			return
		}
	}
}

// missing reports a required argument that is not there. The word before it may
// be what was meant for it.
func (p *wordParser) missing(d Directive, a argumentGrammar) {
	if a.begins != "" && d.Words[0].Key == "" {
		word := d.Words[0]
		i := strings.Index(word.Text, a.begins)
		switch first := p.grammar.arguments[0].arg; {
		case i == 0:
			p.report(word.Pos, CodeMissing, nil, "the %s is missing before %q: write %s %s, such as POST %s", first, word.Text, first, a.arg, word.Text)
			return
		case i > 0:
			p.report(word.Pos, CodeMissing, nil, "a space is missing in %q: write %s %s", word.Text, word.Text[:i], word.Text[i:])
			return
		}
	}
	p.report(d.Pos, CodeMissing, nil, "%s is missing", a.arg)
}

// none reports the word none in a list that has others beside it, and a word
// that stands for headers in another spelling: it would be one of that name.
func (p *wordParser) none() {
	for _, a := range p.grammar.arguments {
		items, list := p.into.Field(a.field).FieldByName("V").Interface().([]Item)
		if !list || len(a.one) > 0 {
			continue
		}
		for _, item := range items {
			switch {
			case !strings.EqualFold(item.Text, "none"):
			case len(items) > 1:
				p.reportArgument(a, item.Pos, CodeValue, nil, "%q stands beside others: it means none at all, and stands alone", item.Text)
			case item.Text != "none":
				p.reportArgument(a, item.Pos, CodeValue, nil, "%q is not one of a list (did you mean none?)", item.Text)
			}
			if a.key == "replay" && item.Text != protective && distance(strings.ToLower(item.Text), protective) <= 2 {
				p.reportArgument(a, item.Pos, CodeValue, nil, "%q is not a header (did you mean %s?)", item.Text, protective)
			}
		}
	}
}

func (p *wordParser) usages() []string {
	var usages []string
	for _, a := range p.grammar.arguments {
		usages = append(usages, a.arg)
	}
	return usages
}

// given returns where an argument was given, and whether it was.
func (p *wordParser) given(a argumentGrammar) (token.Position, bool) {
	pos := p.into.Field(a.field).FieldByName("Pos").Interface().(token.Position)
	return pos, pos.IsValid()
}

func (p *wordParser) keyValue(word Word) {
	p.listKey = ""
	i := slices.IndexFunc(p.grammar.arguments, func(a argumentGrammar) bool { return a.key == word.Key })
	if i < 0 {
		if keys := p.grammar.keys(); len(keys) > 0 {
			p.report(word.Pos, CodeUnknownArgument, nil, "unknown argument %q%s", word.Key, didYouMean(word.Key, keys))
		} else {
			p.report(word.Pos, CodeUnknownArgument, nil, "unknown argument %q: it takes words only, %s", word.Key, orList(p.usages()))
		}
		return
	}
	a := p.grammar.arguments[i]
	if first, again := p.given(a); again {
		p.reportArgument(a, word.Pos, CodeRepeated, &Other{first, "the first one is"}, "%s= is given twice", word.Key)
		return
	}
	if word.Text == "" {
		p.reportArgument(a, word.Pos, CodeMissing, nil, "%s= is empty: write %s=value without a space, or leave it out", word.Key, word.Key)
		// What follows is most likely the value.
		p.stray = true
		return
	}
	if p.set(a, word) {
		p.listKey = word.Key
	}
}

func (p *wordParser) positional(word Word) {
	if p.stray {
		return
	}
	if p.keyed {
		p.stray = true
		switch {
		case p.listKey != "":
			p.report(word.Pos, CodeUnknownArgument, nil, "unexpected word %q: the list after %s= is separated by commas, without spaces", word.Text, p.listKey)
		default:
			p.report(word.Pos, CodeUnknownArgument, nil, "unexpected word %q: words stand before key=value", word.Text)
		}
		return
	}
	if word.Text == "" {
		p.report(word.Pos, CodeMissing, nil, "a word is empty")
		return
	}
	for _, a := range p.grammar.arguments {
		if a.key != "" {
			continue
		}
		if _, given := p.given(a); a.remaining || !given {
			p.set(a, word)
			return
		}
	}
	p.stray = true
	if slices.Contains(p.grammar.keys(), word.Text) {
		p.report(word.Pos, CodeUnknownArgument, nil, "%s is an argument with a value: write %s=value without spaces", word.Text, word.Text)
		return
	}
	p.report(word.Pos, CodeUnknownArgument, nil, "unexpected word %q: it takes %s", word.Text, strings.Join(p.usages(), ", "))
}

// set reads the value of one argument and reports whether it is a list.
func (p *wordParser) set(a argumentGrammar, word Word) (list bool) {
	target := p.into.Field(a.field)
	value := target.FieldByName("V")
	pos := target.FieldByName("Pos").Addr().Interface().(*token.Position)
	if !pos.IsValid() {
		*pos = word.Pos
	}
	items, list := value.Addr().Interface().(*[]Item)
	if !list {
		if p.allowed(a, word.Text, word.Pos) {
			if err := a.read(value, word.Text); err != nil {
				p.reportArgument(a, word.Pos, CodeValue, nil, "%s", err)
			}
		}
		return false
	}
	for _, item := range word.items() {
		switch {
		case item.Text == "":
			p.reportArgument(a, item.Pos, CodeMissing, nil, "an item of the list is empty")
		case p.allowed(a, item.Text, item.Pos):
			*items = append(*items, item)
		}
	}
	return true
}

// allowed checks a value against the choices and the form of its argument.
func (p *wordParser) allowed(a argumentGrammar, text string, pos token.Position) bool {
	switch {
	case len(a.one) > 0 && !slices.Contains(a.one, text) && a.key != "":
		p.reportArgument(a, pos, CodeValue, nil, "%q is not a value of %s%s", text, a.arg, didYouMean(text, a.one))
	case len(a.one) > 0 && !slices.Contains(a.one, text):
		p.reportArgument(a, pos, CodeValue, nil, "%q is none of its words%s", text, didYouMean(text, a.one))
	case a.form == "header" && !isToken(text):
		p.reportArgument(a, pos, CodeValue, nil, "%q is not a header name", text)
	default:
		return true
	}
	return false
}

// keyEquals writes a key in front of its value; nothing for positional words.
func keyEquals(key string) string {
	if key == "" {
		return ""
	}
	return key + "="
}
