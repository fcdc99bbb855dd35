// Package servers starts throwaway database servers for tests and stops them
// again. A missing server is installed from Debian's packages; where that
// cannot be done, the error says what to install.
package servers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// install makes sure that a program is there and returns its path.
func install(program string, folders []string, packages ...string) (string, error) {
	if path, ok := find(program, folders); ok {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err == nil && os.Getuid() == 0 {
		unlock, err := lockInstalls()
		if err != nil {
			return "", err
		}
		defer unlock()
		if path, ok := find(program, folders); ok {
			return path, nil // another process has installed it meanwhile
		}
		for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
			c := exec.Command("apt-get", args...)
			c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := c.CombinedOutput(); err != nil {
				return "", fmt.Errorf("install %v: apt-get %s: %w\n%s", packages, args[0], err, out)
			}
		}
		if path, ok := find(program, folders); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is missing: install the Debian packages %v", program, packages)
}

// lockInstalls keeps the tests of several packages, which are processes, from
// installing at once.
func lockInstalls() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "idemgen-install.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// find looks for a program in folders (which may hold patterns) and in PATH.
func find(program string, folders []string) (string, bool) {
	for _, folder := range folders {
		matches, _ := filepath.Glob(filepath.Join(folder, program))
		if len(matches) > 0 {
			return matches[len(matches)-1], true
		}
	}
	path, err := exec.LookPath(program)
	return path, err == nil
}

// as makes a command run as a user, when this process may do that.
func as(name string, c *exec.Cmd) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}

// own gives a folder to a user, when this process may do that.
func own(name, folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return os.Chown(folder, uid, gid)
}

// run runs a command to its end as a user.
func run(name string, program string, args ...string) error {
	c := exec.Command(program, args...)
	if err := as(name, c); err != nil {
		return err
	}
	c.Dir = "/"
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}

// process is a server that runs until it is killed.
type process struct {
	command *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{}
}

// begin starts a server as a user. The server ends when this process does.
func begin(name, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), ended: make(chan struct{})}
	p.command.Dir = "/"
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	if err := as(name, p.command); err != nil {
		return nil, err
	}
	if p.command.SysProcAttr == nil {
		p.command.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal and, when it ends the server, waits for the end.
func (p *process) signal(s syscall.Signal) {
	p.command.Process.Signal(s)
	if s == syscall.SIGKILL || s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGQUIT {
		<-p.ended
	}
}

// await waits until a server answers.
func (p *process) await(ready func() error) error {
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the server ended at its start:\n%s", &p.log)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not answer: %w\n%s", err, &p.log)
		}
	}
}
