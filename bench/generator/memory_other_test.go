//go:build !unix

package generator_test

import "os"

// peakMemory is not known here.
func peakMemory(*os.ProcessState) int { return 0 }
