package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite"
)

// diskSize is that of the disk that gets full: enough for some hours.
const diskSize = "256m"

// sqliteSite describes servers that share an SQLite file, on a disk of its own
// where this process may mount one. There is one for each binary.
func sqliteSite(r *record, folder string, binaries []string, payments *line) (_ *site, err error) {
	s := &site{name: "sqlite", report: r}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	disk := filepath.Join(folder, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return nil, err
	}
	mounted := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+diskSize)
	if mounted == nil {
		s.onStop(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	}
	file := filepath.Join(disk, "checkout.db")
	if s.db, err = sql.Open("sqlite", file+"?_pragma=busy_timeout(1000)"); err != nil {
		return nil, err
	}
	s.onStop(func() { s.db.Close() })
	for i, binary := range binaries {
		s.nodes = append(s.nodes, &node{
			name: fmt.Sprintf("sqlite server %d", i+1), binary: binary, report: r, unstored: &s.unstored,
			// Handlers take turns.
			args: []string{"-db", file, "-payments", "http://" + payments.address(), "-linger", "2ms"},
		})
	}
	filler := filepath.Join(disk, "filler")
	s.mend = func() error { return free(filler) }
	s.attacks = []attack{
		{500 * time.Millisecond, s.killServer},
		{5 * time.Second, s.pauseServer},
		{6 * time.Second, s.exhaustPool},
	}
	if mounted != nil {
		r.leaveOut(fmt.Sprintf("sqlite: disk full: a disk of its own could not be mounted: %v", mounted))
		return s, nil
	}
	s.attacks = append(s.attacks, attack{4 * time.Second, func(ctx context.Context, random *rand.Rand) {
		// An empty log has to grow at the next commit. Servers may be in the
		// way of emptying it, and then it is the next but some.
		s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		if err := fill(filler); err != nil {
			r.broken(fmt.Errorf("fill the disk: %w", err))
			return
		}
		sleep(ctx, 100*time.Millisecond+time.Duration(random.Int64N(int64(1500*time.Millisecond))))
		if err := free(filler); err != nil {
			r.broken(fmt.Errorf("free the disk: %w", err))
		}
		s.attacked("disk full", 1)
	}})
	return s, nil
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
