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

// connection is the only way of a host to the database.
type connection struct {
	proxy *toxiproxy.Proxy

	mu     sync.Mutex
	closed bool
}

// newConnection opens a proxy in front of an address.
func newConnection(upstream string) (*connection, error) {
	quiet := zerolog.Nop()
	server := &toxiproxy.ApiServer{Metrics: toxiproxy.NewMetricsContainer(nil), Logger: &quiet}
	for try := 1; ; try++ {
		// Below the ports that the system assigns to clients: otherwise a client that
		// connects while the proxy is stopped could be assigned this port itself.
		listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(10000)))
		c := &connection{proxy: toxiproxy.NewProxy(server, "postgres", listen, upstream)}
		err := c.proxy.Start()
		if err == nil || try == 100 {
			return c, err
		}
	}
}

// address returns the address of the database for the host.
func (c *connection) address() string { return c.proxy.Listen }

// cut closes every connection and refuses new ones.
func (c *connection) cut() error {
	c.proxy.Stop()
	return nil
}

// restore accepts connections again after a cut, unless the proxy was closed since.
func (c *connection) restore() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	return c.proxy.Start()
}

// drop drops all data, in one direction or both, without an error on either side.
func (c *connection) drop(directions ...string) error {
	for _, d := range directions {
		if err := c.add("drop_"+d, "timeout", d, `"timeout":0`); err != nil {
			return err
		}
	}
	return nil
}

// slow delays responses and limits the bandwidth.
func (c *connection) slow() error {
	if err := c.add("latency", "latency", "downstream", `"latency":200,"jitter":50`); err != nil {
		return err
	}
	return c.add("bandwidth", "bandwidth", "downstream", `"rate":200`)
}

// clear undoes drop and slow.
func (c *connection) clear() error {
	c.proxy.Toxics.ResetToxics(context.Background())
	return nil
}

// close ends the proxy.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.proxy.Stop()
}

func (c *connection) add(name, kind, direction, attributes string) error {
	_, err := c.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name":%q,"type":%q,"stream":%q,"attributes":{%s}}`, name, kind, direction, attributes)))
	return err
}
