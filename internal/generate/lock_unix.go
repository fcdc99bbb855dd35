//go:build unix

package generate

import (
	"io/fs"
	"os"
	"syscall"
)

// checksModes says that the modes of files mean what they say.
const checksModes = true

// isOwn reports whether a file belongs to the account of this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
