package servers

import (
	"os"
	"path/filepath"
)

// Standby makes a copy of the cluster and starts it as a standby that streams from
// it, under a name for synchronous_standby_names. Call its Stop at the end.
func (s *Postgres) Standby(name string) (_ *Postgres, err error) {
	folder, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, err
	}
	standby := &Postgres{folder: folder, binary: s.binary, settings: append(s.settings[:len(s.settings):len(s.settings)],
		"primary_conninfo=host="+s.Socket()+" user=postgres application_name="+name)}
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
	copied := filepath.Join(filepath.Dir(s.binary), "pg_basebackup")
	if err := run("postgres", copied, "-D", standby.data(), "-h", s.Socket(), "-U", "postgres", "--checkpoint=fast", "--no-sync", "--write-recovery-conf"); err != nil {
		return nil, err
	}
	return standby, standby.Start()
}

// Promote makes a standby, which is not running, a primary that waits for nobody.
func (s *Postgres) Promote() error {
	if err := os.Remove(filepath.Join(s.data(), "standby.signal")); err != nil {
		return err
	}
	s.settings = append(s.settings, "synchronous_standby_names=")
	return s.Start()
}
