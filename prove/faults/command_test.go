package faults

import (
	"reflect"
	"strings"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		line         string
		secret       bool
		env, command string
		refused      string
	}{
		{line: "./server -db {db}", command: "./server -db {db}"},
		{line: "A=1 B_2={db} ./server -x=y", secret: true, env: "A=1 B_2={db}", command: "./server -x=y"},
		{line: "./server -db={db}", secret: true, refused: "DATABASE_URL={db}"},
		{line: "env X={db} ./server", secret: true, refused: "everybody could read"},
		{line: "./server -at {dbaddr}", secret: true, command: "./server -at {dbaddr}"},
		{line: "A=1", refused: "no program"},
	} {
		env, command, err := splitCommand(strings.Fields(c.line), c.secret)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q in it", c.line, err, c.refused)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(append(env, command...), strings.Fields(c.env+" "+c.command)) || strings.Join(env, " ") != c.env {
			t.Errorf("%s: %v, %v, %v", c.line, env, command, err)
		}
	}
}
