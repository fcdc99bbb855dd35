package servers

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Galera is a cluster of MariaDB servers, each of which takes writes.
type Galera struct {
	Nodes []*MariaDB
	ports []galeraPorts
	lib   string
}

// galeraPorts are where a node talks to the others.
type galeraPorts struct{ group, ist, sst int }

// galeraAttempts is how often a cluster is tried to be formed: on a busy machine
// its members may take each other for dead while they join.
const galeraAttempts = 3

// StartGalera starts a cluster of that many nodes on loopback ports. Call Stop
// at the end.
func StartGalera(nodes int) (*Galera, error) {
	for attempt := 1; ; attempt++ {
		g, err := startGalera(nodes)
		if err == nil || attempt == galeraAttempts {
			return g, err
		}
	}
}

func startGalera(nodes int) (_ *Galera, err error) {
	lib, err := install("libgalera_smm.so", []string{"/usr/lib/galera", "/usr/lib/libgalera*"}, "galera-4", "rsync")
	if err != nil {
		return nil, err
	}
	if _, err := install("rsync", mariadbFolders, "rsync"); err != nil {
		return nil, err
	}
	g := &Galera{lib: lib}
	password := newPassword() // who joins takes over the accounts of the cluster
	defer func() {
		if err != nil {
			g.Stop()
		}
	}()
	for range nodes {
		var p galeraPorts
		for _, port := range []*int{&p.group, &p.ist, &p.sst} {
			if *port, err = freePort(); err != nil {
				return nil, err
			}
		}
		s, err := newMariaDB(password)
		if err != nil {
			return nil, err
		}
		g.Nodes, g.ports = append(g.Nodes, s), append(g.ports, p)
	}
	if err := g.start(0, "--wsrep-new-cluster"); err != nil {
		return nil, err
	}
	for i := 1; i < nodes; i++ {
		if err := g.start(i); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// start starts a node and waits until it is in step with the cluster.
func (g *Galera) start(i int, options ...string) error {
	if err := g.begin(i, options...); err != nil {
		return err
	}
	return g.awaitSynced(i)
}

func (g *Galera) begin(i int, options ...string) error {
	s, p := g.Nodes[i], g.ports[i]
	var members []string
	for _, p := range g.ports {
		members = append(members, net.JoinHostPort("127.0.0.1", strconv.Itoa(p.group)))
	}
	return s.begin(append([]string{
		"--wsrep-on=ON", "--wsrep-provider=" + g.lib, "--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
		"--wsrep-cluster-name=test", "--wsrep-cluster-address=gcomm://" + strings.Join(members, ","),
		"--wsrep-node-name=" + strconv.Itoa(i), "--wsrep-node-address=127.0.0.1", "--wsrep-slave-threads=2",
		"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=127.0.0.1:" + strconv.Itoa(p.sst),
		"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:" + strconv.Itoa(p.group) +
			";ist.recv_addr=127.0.0.1:" + strconv.Itoa(p.ist) +
			";evs.suspect_timeout=PT5S;evs.inactive_timeout=PT10S;evs.keepalive_period=PT0.5S;gcache.size=16M",
	}, options...)...)
}

// awaitSynced waits until a node takes statements.
func (g *Galera) awaitSynced(i int) error {
	return g.Nodes[i].process.await(func() error {
		state, err := g.Nodes[i].status("wsrep_local_state_comment")
		if err == nil && state != "Synced" {
			err = fmt.Errorf("the node is %q", state)
		}
		return err
	})
}

// Kill ends a node as a crash would.
func (g *Galera) Kill(i int) { g.Nodes[i].process.signal(syscall.SIGKILL) }

// Restart starts a node again after it was killed; it joins the others.
func (g *Galera) Restart(i int) error { return g.start(i) }

// Recover makes a node that has lost its quorum go on without those it lost.
func (g *Galera) Recover(i int) error {
	if err := g.Nodes[i].Run("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=true'"); err != nil {
		return err
	}
	return g.awaitSynced(i)
}

// AwaitNonPrimary waits until a node has noticed that it has no quorum.
func (g *Galera) AwaitNonPrimary(i int) error {
	deadline := time.Now().Add(60 * time.Second)
	for {
		state, err := g.Nodes[i].status("wsrep_cluster_status")
		if err == nil && state != "Primary" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the node is still %q, %v", state, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop ends all nodes and removes their folders.
func (g *Galera) Stop() {
	for _, s := range g.Nodes {
		s.Stop()
	}
}
