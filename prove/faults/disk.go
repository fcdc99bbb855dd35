package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskSize is that of the disk that gets full: enough for some hours.
const diskSize = "256m"

// newDisk makes a file for SQLite, on a disk of its own where this process may
// mount one.
func (d *Database) newDisk(folder string) error {
	disk := filepath.Join(folder, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+diskSize); err != nil {
		d.LeftOut = append(d.LeftOut, fmt.Sprintf("disk full: a disk of its own could not be mounted: %v", err))
	} else {
		d.closers = append(d.closers, func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		filler := filepath.Join(disk, "filler")
		d.Fill = func() error { return fill(filler) }
		d.Free = func() error { return free(filler) }
	}
	return d.openFile(filepath.Join(disk, ownName+".db"))
}

// fill takes all the room that the disk of a file has.
func fill(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return nil
}

func free(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
