package spec

import (
	"fmt"
	"strings"
)

// DirectiveHelp describes one directive for readers.
type DirectiveHelp struct {
	Name      string // with the tool: "idem:lease"
	On        string // interface, method or both
	Help      string
	Arguments []ArgumentHelp
}

// ArgumentHelp describes one argument of a directive for readers.
type ArgumentHelp struct {
	Usage   string // "max=SIZE", "METHOD", "required|optional"
	Default string // "" when the argument must be given
	Help    string
}

// Help describes all directives, in the order in which they are documented.
func Help() []DirectiveHelp {
	all := make([]DirectiveHelp, len(grammar))
	for i, d := range grammar {
		all[i] = DirectiveHelp{Name: Tool + ":" + d.name, On: string(d.on), Help: d.help}
		for _, a := range d.arguments {
			all[i].Arguments = append(all[i].Arguments, ArgumentHelp{
				Usage: a.usage(), Default: a.preset, Help: a.help,
			})
		}
	}
	return all
}

// usage is how an argument is written.
func (a argumentGrammar) usage() string {
	if a.key == "" {
		return a.arg
	}
	if len(a.one) > 0 {
		return a.arg + strings.Join(a.one, "|")
	}
	return a.arg + a.value
}

// HelpTable is the help as a Markdown table: one row per directive.
func HelpTable() string {
	var b strings.Builder
	b.WriteString("| directive | on | arguments (default) | meaning |\n|---|---|---|---|\n")
	for _, d := range Help() {
		var arguments []string
		for _, a := range d.Arguments {
			arguments = append(arguments, a.markdown())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.On, strings.Join(arguments, "; "), d.Help)
	}
	return b.String()
}

func (a ArgumentHelp) markdown() string {
	text := "`" + strings.ReplaceAll(a.Usage, "|", `\|`) + "`"
	if a.Default != "" {
		text += " (" + a.Default + ")"
	}
	text += ": " + a.Help
	return text
}

// HelpText is the help of one directive, with or without "idem:" in its name,
// for a terminal. It reports false when there is no such directive.
func HelpText(name string) (string, bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "//"), Tool+":")
	for _, d := range Help() {
		if d.Name != Tool+":"+name {
			continue
		}
		var b strings.Builder
		on := d.On
		if d.On == string(onBoth) {
			on = "interface (for its methods) or method"
		}
		fmt.Fprintf(&b, "//%s\n\n%s\nStands on: %s\n", d.Name, d.Help, on)
		for _, a := range d.Arguments {
			fmt.Fprintf(&b, "\n  %s\n        %s\n", a.Usage, a.Help)
			if a.Default != "" {
				fmt.Fprintf(&b, "        default: %s\n", a.Default)
			}
		}
		return b.String(), true
	}
	return "", false
}
