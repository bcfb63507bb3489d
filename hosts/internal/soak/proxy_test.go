// The network between one host and the database: a proxy that can be cut and slowed.

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// databaseProxy is the only way of one host to the database. It can cut or disturb all its connections.
type databaseProxy struct {
	proxy *toxiproxy.Proxy

	mu     sync.Mutex
	closed bool
}

// newDatabaseProxy opens a proxy in front of an address.
func newDatabaseProxy(upstream string) (*databaseProxy, error) {
	quiet := zerolog.Nop()
	server := &toxiproxy.ApiServer{Metrics: toxiproxy.NewMetricsContainer(nil), Logger: &quiet}
	for try := 1; ; try++ {
		// Below the ports that the system assigns to clients: otherwise a client that
		// connects while the proxy is stopped could be assigned this port itself.
		listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(10000)))
		c := &databaseProxy{proxy: toxiproxy.NewProxy(server, "postgres", listen, upstream)}
		err := c.proxy.Start()
		if err == nil || try == 100 {
			return c, err
		}
	}
}

// address returns the address of the database for the host.
func (p *databaseProxy) address() string { return p.proxy.Listen }

// cut closes every connection and refuses new ones.
func (p *databaseProxy) cut() error {
	p.proxy.Stop()
	return nil
}

// restore accepts connections again after a cut, unless the proxy was closed since.
func (p *databaseProxy) restore() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	return p.proxy.Start()
}

// drop drops all data, in one direction or both, without an error on either side.
func (p *databaseProxy) drop(directions ...string) error {
	for _, d := range directions {
		if err := p.add("drop_"+d, "timeout", d, `"timeout":0`); err != nil {
			return err
		}
	}
	return nil
}

// slow delays responses and limits the bandwidth.
func (p *databaseProxy) slow() error {
	if err := p.add("latency", "latency", "downstream", `"latency":200,"jitter":50`); err != nil {
		return err
	}
	return p.add("bandwidth", "bandwidth", "downstream", `"rate":200`)
}

// clear undoes drop and slow.
func (p *databaseProxy) clear() error {
	p.proxy.Toxics.ResetToxics(context.Background())
	return nil
}

// close ends the proxy. It does nothing on nil.
func (p *databaseProxy) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.proxy.Stop()
}

func (p *databaseProxy) add(name, kind, direction, attributes string) error {
	_, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name":%q,"type":%q,"stream":%q,"attributes":{%s}}`, name, kind, direction, attributes)))
	return err
}
