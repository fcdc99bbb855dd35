package sqlledger

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
)

// SQLiteOption configures [OpenSQLite].
type SQLiteOption func(*sqliteOptions) error

type sqliteOptions struct{ mode fs.FileMode }

// WithFileMode gives a new file these permissions instead of 0600. SQLite gives
// its -wal and -shm files those of the file. A file that is there already keeps
// what it has.
func WithFileMode(mode fs.FileMode) SQLiteOption {
	return func(o *sqliteOptions) error {
		if mode&^fs.ModePerm != 0 || mode&0o600 != 0o600 {
			return fmt.Errorf("idemgen: WithFileMode: %#o are no permissions of a ledger: its owner reads and writes it, and nothing else is set", uint32(mode))
		}
		o.mode = mode
		return nil
	}
}

// createFile makes a file where it is missing, before SQLite would: that makes
// files which everybody may read. A file that cannot be made is left to the
// driver, whose error tells more.
func createFile(name string, mode fs.FileMode) error {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, mode)
	if err != nil {
		return nil
	}
	// The process's mask may have taken permissions away.
	return errors.Join(file.Chmod(mode), file.Close())
}

// alikeFiles gives the files beside a file what that has, where a driver does
// not: they hold the same rows. A connection that was set up has made them.
func alikeFiles(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Stat(name)
	if err != nil {
		return nil // the connection is to another place, which it knows best
	}
	for _, end := range []string{"-wal", "-shm"} {
		beside, err := os.Stat(name + end)
		if err != nil || beside.Mode().Perm() == file.Mode().Perm() {
			continue
		}
		if err := os.Chmod(name+end, file.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// fileOf is the file that a data source name would create: a plain name, or a
// URI as SQLite reads it. It reports false for names that create none or that
// belong to a file system of their own.
func fileOf(dsn string) (name string, ok bool) {
	name, query, _ := strings.Cut(dsn, "?")
	query, _, _ = strings.Cut(query, "#")
	rest, uri := strings.CutPrefix(name, "file:")
	if uri {
		if after, found := strings.CutPrefix(rest, "//"); found {
			// An authority is empty or localhost.
			at := strings.IndexByte(after, '/')
			if at < 0 {
				return "", false
			}
			rest = after[at:]
		}
		rest, _, _ = strings.Cut(rest, "#")
		unescaped, err := url.PathUnescape(rest)
		if err != nil {
			return "", false
		}
		name = unescaped
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key == "vfs" || key == "immutable" || key == "mode" && value != "rwc" {
			return "", false
		}
	}
	if strings.ContainsRune(name, 0) {
		return "", false
	}
	return name, name != ""
}
