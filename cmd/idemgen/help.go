package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/spec"
)

// allDirectives is the help topic about all directives.
const allDirectives = "directives"

// helpCommand helps with commands and with directives. The help of directives
// is read from the structs that parse them.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command | directives | idem:directive]",
		Short: "Help about a command, all directives, or one of them",
		Example: `  idemgen help explain
  idemgen help directives
  idemgen help idem:lease`,
		RunE: func(_ *cobra.Command, args []string) error {
			topic := strings.Join(args, " ")
			if topic == allDirectives {
				fmt.Fprint(a.stdout, directivesHelp())
				return nil
			}
			if about, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				about.InitDefaultHelpFlag()
				return about.Help()
			}
			if text, ok := spec.HelpText(topic); ok {
				fmt.Fprint(a.stdout, text)
				return nil
			}
			return unknownTopic(root, topic)
		},
	}
}

func unknownTopic(root *cobra.Command, topic string) error {
	topics := []string{allDirectives}
	for _, command := range root.Commands() {
		topics = append(topics, command.Name())
	}
	for _, name := range spec.Names() {
		topics = append(topics, name, spec.Tool+":"+name)
	}
	if near := spec.Suggest(topic, topics); near != "" {
		return fmt.Errorf("no help about %q (did you mean %s?)", topic, near)
	}
	return fmt.Errorf("no help about %q: there is help about the commands, about directives, and about each one, such as %s:lease", topic, spec.Tool)
}

// helpWidth is the number of columns that help keeps to.
const helpWidth = 100

// directivesHelp describes all directives for a terminal.
func directivesHelp() string {
	var b strings.Builder
	b.WriteString(`A directive is a comment line //idem:name directly above an annotated interface,
for all its methods, or above one of its methods; a method overrides argument by
argument. Words stand first, then key=value; lists are separated by spaces or,
behind key=, by commas. Sizes are in B, KiB or MiB; durations are as
time.ParseDuration reads them.

`)
	for _, d := range spec.Help() {
		on := "on an interface or a method"
		if d.On != "both" {
			on = "on the " + d.On
		}
		fmt.Fprintf(&b, "//%s, %s\n%s", d.Name, on, wrapped(d.Help, "    "))
		for _, argument := range d.Arguments {
			text := argument.Help
			switch {
			case argument.Default != "":
				text += " (default " + argument.Default + ")"
			default:
				text += " (required)"
			}
			fmt.Fprintf(&b, "      %s\n%s", argument.Usage, wrapped(text, "          "))
		}
		b.WriteByte('\n')
	}
	b.WriteString("idemgen help idem:NAME is about one directive, and says which values are not built yet.\n")
	return b.String()
}

// wrapped breaks a text into lines with an indent.
func wrapped(text, indent string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}
