// Package regular reads files that somebody else may have made: regular ones of
// bounded size. A device may have no end, and a pipe may never answer.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Max is how many bytes a file may have. What is generated, and what people
// write, has a few hundred kilobytes at most.
const Max = 64 << 20

// ErrIrregular says that something is no regular file.
var ErrIrregular = errors.New("not a regular file")

// ErrTooLarge says that a file has more than Max bytes.
var ErrTooLarge = fmt.Errorf("larger than %d MiB", Max>>20)

// ReadFile is os.ReadFile for regular files of at most Max bytes. Links are
// followed.
func ReadFile(name string) ([]byte, error) {
	return read(name, func() (fs.FileInfo, error) { return os.Stat(name) }, func() (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
}

// ReadIn is ReadFile inside a root, which no link leaves.
func ReadIn(root *os.Root, name string) ([]byte, error) {
	return read(name, func() (fs.FileInfo, error) { return root.Stat(name) }, func() (*os.File, error) {
		return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
}

// Check says what is wrong with a file of that description, or nil.
func Check(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: name, Err: ErrIrregular}
	case info.Size() > Max:
		return &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	default:
		return nil
	}
}

func read(name string, stat func() (fs.FileInfo, error), open func() (*os.File, error)) ([]byte, error) {
	// To open some devices is to do something to them.
	info, err := stat()
	if err != nil {
		return nil, err
	}
	if err := Check(name, info); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// Another file may have taken the name since.
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if err := Check(name, info); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, Max+1))
	if err == nil && len(content) > Max {
		err = &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
