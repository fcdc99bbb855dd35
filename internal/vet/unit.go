package vet

import (
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"
)

// IsUnit reports whether a program was started by go vet, with the arguments
// of the protocol of its tools.
func IsUnit(args []string) bool {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-V=") || arg == "-flags" || strings.HasSuffix(arg, ".cfg") {
			return true
		}
	}
	return false
}

// Unit analyzes the one package that go vet asks for, and ends the program.
func Unit() { unitchecker.Main(Analyzer) }
