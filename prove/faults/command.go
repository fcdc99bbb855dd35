package faults

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// assignment is a word that sets a variable of the environment.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// splitCommand splits a command line into what goes into the environment and
// what is run. When the database's name is secret, no argument may hold it:
// every account of the machine can read the arguments of every process.
func splitCommand(line []string, secret bool) (env, command []string, err error) {
	program := slices.IndexFunc(line, func(word string) bool { return !assignment.MatchString(word) })
	if program < 0 {
		return nil, nil, errors.New("the server's command line names no program")
	}
	env, command = slices.Clone(line[:program]), slices.Clone(line[program:])
	if secret && slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "{db}") }) {
		return nil, nil, errors.New("the database's URL has a password, which everybody could read among the arguments: " +
			"give {db} by the environment, as in -- DATABASE_URL={db} ./server -addr {listen}")
	}
	return env, command, nil
}
