package servers

import (
	"os"
	"path/filepath"
	"syscall"
)

// Standby makes a copy of the cluster, for which it is stopped and started again, and
// starts it as a standby that streams from it, under a name for
// synchronous_standby_names. Call its Stop at the end.
func (s *Postgres) Standby(name string) (_ *Postgres, err error) {
	folder, err := os.MkdirTemp(filepath.Dir(s.folder), "postgres-")
	if err != nil {
		return nil, err
	}
	passwords := filepath.Join(folder, "passwords")
	standby := &Postgres{folder: folder, password: s.password, binary: s.binary, settings: append(s.settings[:len(s.settings):len(s.settings)],
		"primary_conninfo=host="+s.Socket()+" user=postgres passfile="+passwords+" application_name="+name)}
	defer func() {
		if err != nil {
			standby.Stop()
		}
	}()
	for _, dir := range []string{standby.folder, standby.Socket()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := own("postgres", dir); err != nil {
			return nil, err
		}
	}
	if err := writeSecret("postgres", passwords, "*:*:*:postgres:"+s.password+"\n"); err != nil {
		return nil, err
	}
	s.process.signal(syscall.SIGINT)
	if err := run("postgres", "cp", "-a", s.data(), standby.data()); err != nil {
		return nil, err
	}
	if err := run("postgres", "touch", standby.signalFile()); err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	return standby, standby.Start()
}

// signalFile makes a cluster a standby.
func (s *Postgres) signalFile() string { return filepath.Join(s.data(), "standby.signal") }

// Promote makes a standby, which is not running, a primary that waits for nobody.
func (s *Postgres) Promote() error {
	if err := os.Remove(s.signalFile()); err != nil {
		return err
	}
	s.settings = append(s.settings, "synchronous_standby_names=")
	return s.Start()
}
