package servers

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
)

// Proxy stands between clients and a server and breaks connections when a
// client sends a certain text.
type Proxy struct {
	listener net.Listener
	network  string
	server   string

	mu     sync.Mutex
	text   []byte // what a client must send
	when   moment
	times  int
	broken int
	ended  int
	conns  map[net.Conn]bool
	mysql  bool
}

// StartProxy listens on a loopback port for connections to a server. Call Stop
// at the end.
func StartProxy(network, server string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, network: network, server: server, conns: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

// Address is where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// FollowPrepared takes connections for MySQL's: a prepared statement counts as
// sent when it is executed, and not when it is prepared.
func (p *Proxy) FollowPrepared() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mysql = true
}

// LoseRequests breaks the connection on which a client sends text, before the
// server sees it, that many times.
func (p *Proxy) LoseRequests(text string, times int) { p.arm(text, before, times) }

// LoseAnswers breaks the connection on which a client sends text, when the
// server has answered and before the client sees it, that many times.
func (p *Proxy) LoseAnswers(text string, times int) { p.arm(text, after, times) }

// LoseBoth breaks the connection on which a client sends text, as soon as the
// server has been sent it, that many times.
func (p *Proxy) LoseBoth(text string, times int) { p.arm(text, during, times) }

// moment is when a connection is broken, seen from the server's work.
type moment int

const (
	before moment = iota
	during
	after
)

func (p *Proxy) arm(text string, when moment, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.when, p.times, p.broken = []byte(text), when, times, 0
}

// Broken is how many connections were broken since it was last said what to
// break.
func (p *Proxy) Broken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// Ended is how many connections have ended, in whatever way.
func (p *Proxy) Ended() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// Stop breaks all connections and listens no more.
func (p *Proxy) Stop() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		l := &link{proxy: p, client: client, server: server}
		go l.requests()
		go l.answers()
	}
}

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn

	mu        sync.Mutex
	lose      bool // the next answer
	preparing []byte
	prepared  map[uint32][]byte // texts of MySQL's prepared statements
}

func (l *link) end() {
	l.client.Close()
	l.server.Close()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.proxy.conns[l.client] {
		l.proxy.ended++
	}
	delete(l.proxy.conns, l.client)
	delete(l.proxy.conns, l.server)
}

func (l *link) requests() {
	defer l.end()
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}
		hit, when := l.proxy.hits(l.said(buffer[:n]))
		if hit && when == before {
			return
		}
		if hit && when == after {
			l.mu.Lock()
			l.lose = true
			l.mu.Unlock()
		}
		if _, err := l.server.Write(buffer[:n]); err != nil || hit && when == during {
			return
		}
	}
}

func (l *link) answers() {
	defer l.end()
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		lose := l.lose
		l.mu.Unlock()
		if lose {
			return
		}
		l.heard(buffer[:n])
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// hits reports whether a packet is one to break the connection at.
func (p *Proxy) hits(packet []byte) (hit bool, when moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == 0 || !bytes.Contains(packet, p.text) {
		return false, 0
	}
	p.times--
	p.broken++
	return true, p.when
}

// Commands of MySQL's protocol. A packet is its length, 3 bytes, its number, the
// command, and the text or the number of a statement.
const (
	comPrepare = 0x16
	comExecute = 0x17
)

// said is the text that a client's packet stands for.
func (l *link) said(packet []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.proxy.followsPrepared() || len(packet) < 9:
	case packet[4] == comPrepare:
		l.preparing = bytes.Clone(packet[5:])
		return nil
	case packet[4] == comExecute:
		return l.prepared[binary.LittleEndian.Uint32(packet[5:])]
	}
	return packet
}

// heard remembers the number that a server gives to a statement.
func (l *link) heard(packet []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.preparing == nil || len(packet) < 9 {
		return
	}
	if packet[4] == 0 { // OK
		if l.prepared == nil {
			l.prepared = map[uint32][]byte{}
		}
		l.prepared[binary.LittleEndian.Uint32(packet[5:])] = l.preparing
	}
	l.preparing = nil
}

func (p *Proxy) followsPrepared() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mysql
}
