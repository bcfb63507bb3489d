// The network between one host and the database: a proxy that can be cut and slowed.

package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// line is the only connection of a host to the database.
type line struct {
	proxy *toxiproxy.Proxy
}

// newLine opens a proxy in front of an address.
func newLine(upstream string) (*line, error) {
	quiet := zerolog.Nop()
	server := &toxiproxy.ApiServer{Metrics: toxiproxy.NewMetricsContainer(nil), Logger: &quiet}
	for try := 1; ; try++ {
		// Below the ports that the system assigns to clients: otherwise a client that
		// connects while the line is cut could be assigned this port itself.
		listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(10000)))
		l := &line{toxiproxy.NewProxy(server, "postgres", listen, upstream)}
		err := l.proxy.Start()
		if err == nil || try == 100 {
			return l, err
		}
	}
}

// address returns the address of the database for the host.
func (l *line) address() string { return l.proxy.Listen }

// cut closes every connection and refuses new ones.
func (l *line) cut() error {
	l.proxy.Stop()
	return nil
}

// restore accepts connections again after a cut.
func (l *line) restore() error { return l.proxy.Start() }

// drop drops all data, in one direction or both, without an error on either side.
func (l *line) drop(directions ...string) error {
	for _, d := range directions {
		if err := l.add("drop_"+d, "timeout", d, `"timeout":0`); err != nil {
			return err
		}
	}
	return nil
}

// slow delays responses and limits the bandwidth.
func (l *line) slow() error {
	if err := l.add("latency", "latency", "downstream", `"latency":200,"jitter":50`); err != nil {
		return err
	}
	return l.add("bandwidth", "bandwidth", "downstream", `"rate":200`)
}

// clear undoes drop and slow.
func (l *line) clear() error {
	l.proxy.Toxics.ResetToxics(context.Background())
	return nil
}

// close ends the proxy.
func (l *line) close() { l.proxy.Stop() }

func (l *line) add(name, kind, direction, attributes string) error {
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name":%q,"type":%q,"stream":%q,"attributes":{%s}}`, name, kind, direction, attributes)))
	return err
}
