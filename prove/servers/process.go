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
