package main

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// network is a proxy that loses one request in ten before the server sees it,
// and one answer in four after the server gave it. Which ones, the seed says.
type network struct {
	url     string
	forward http.Handler

	mu     sync.Mutex
	random *rand.Rand
}

// newNetwork listens in front of a server.
func newNetwork(server string) (*network, *http.Server, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	n := &network{url: "http://" + listener.Addr().String(), forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}}
	s := &http.Server{Handler: n, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	go s.Serve(listener)
	return n, s, nil
}

// begin starts the losses of one client anew.
func (n *network) begin(seed uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.random = rand.New(rand.NewPCG(seed, 0))
}

// ServeHTTP forwards a request, unless it or its answer is lost: then the
// client sees its connection break.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	fate := n.random.Float64()
	n.mu.Unlock()
	switch {
	case fate < 0.10:
	case fate < 0.35:
		n.forward.ServeHTTP(discarding{http.Header{}}, r)
	default:
		n.forward.ServeHTTP(w, r)
		return
	}
	panic(http.ErrAbortHandler)
}

// discarding is where lost answers go.
type discarding struct{ header http.Header }

func (d discarding) Header() http.Header       { return d.header }
func (discarding) WriteHeader(int)             {}
func (discarding) Write(p []byte) (int, error) { return len(p), nil }
