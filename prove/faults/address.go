package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// freeAddress is a loopback address that nobody listens on. Its port is none of
// those that the kernel gives to connections, which might take it meanwhile.
func freeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("there is no free port")
}

// accepts waits until somebody listens on an address. It reports false when the
// process has ended before: it may have given up on a database that is down.
func accepts(address string, ended <-chan struct{}) bool {
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
