// The last connections of a host that stops.

package server

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// finish accepts no more connections, and waits until the open ones have ended, at most for wait.
// A server that shuts down drops requests that arrive on connections that it has accepted.
func (l *connections) finish(wait time.Duration) {
	l.acceptLast()
	_ = l.Close()
	tick := time.NewTicker(wait / 100)
	defer tick.Stop()
	for end := time.After(wait); ; {
		if open, _ := l.counts(); open == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}

// Close implements net.Listener. It may be called again.
func (l *connections) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// maxLast bounds the connections that acceptLast accepts. A system queues at most as many.
const maxLast = 4096

// acceptLast accepts the connections that the system has queued, and stops it from queueing more.
// To close the listener alone would reset them, after their clients have sent a request.
func (l *connections) acceptLast() {
	l.finishing.Lock()
	defer l.finishing.Unlock()
	l.finished = true
	listener, ok := l.Listener.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := listener.SyscallConn()
	if err != nil {
		return
	}
	var queued []int
	_ = raw.Control(func(fd uintptr) {
		for range maxLast {
			one, _, err := syscall.Accept(int(fd))
			if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ECONNABORTED) {
				continue
			}
			if err != nil { // the queue is empty
				break
			}
			queued = append(queued, one)
		}
		_ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR)
	})
	for _, fd := range queued {
		file := os.NewFile(uintptr(fd), "connection")
		if c, err := net.FileConn(file); err == nil {
			l.last = append(l.last, c)
		}
		_ = file.Close() // the connection has a descriptor of its own
	}
}

// lastOr returns one of the last connections, or net.ErrClosed when there is none left. It
// returns err if the listener is not finished.
func (l *connections) lastOr(err error) (net.Conn, error) {
	l.finishing.Lock()
	defer l.finishing.Unlock()
	if !l.finished {
		return nil, err
	}
	if len(l.last) == 0 {
		return nil, net.ErrClosed
	}
	c := l.last[0]
	l.last = l.last[1:]
	return c, nil
}
