// Tests of addresses that are not called.

package webhook_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/webhook"
)

func TestPrivateAddressesAreNotCalled(t *testing.T) {
	r := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	known := names{
		"loopback.example.": {"127.0.0.1", "::1"},
		"inside.example.":   {"10.1.2.3", "192.168.0.1", "fd00::1"},
		"mapped.example.":   {"::ffff:127.0.0.1"},
		"metadata.example.": {"169.254.169.254"},
	}
	for _, host := range []string{
		"127.0.0.1", "127.255.255.254", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "0.0.0.0", "[::]", "localhost",
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"169.254.169.254", "[::ffff:169.254.169.254]", "100.100.100.200", "[fd00:ec2::254]",
		"[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001::1]", "[2001:db8::1]",
		"loopback.example", "inside.example", "mapped.example", "metadata.example",
	} {
		t.Run(host, func(t *testing.T) {
			s := newSender(t, func(o *webhook.Options) {
				o.AllowPrivateNetworks, o.Resolver, o.Timeout = false, resolver(known), 5*time.Second
			})
			err := s.Notify(t.Context(), notice("http://"+host+":"+port))
			discreet(t, err)
			s.last(t, webhook.ClassBlocked, 0)
		})
	}
	if came := r.all(); len(came) != 0 {
		t.Errorf("%d notices came", len(came))
	}
}

func TestAPortOfAnotherServiceIsNotCalled(t *testing.T) {
	s := newSender(t, func(o *webhook.Options) { o.AllowPrivateNetworks = false })
	err := s.Notify(t.Context(), notice("http://8.8.8.8:25")) // refused before it is dialled
	s.last(t, webhook.ClassBlocked, 0)
	if err == nil || !strings.Contains(err.Error(), "port is not allowed") {
		t.Errorf("Notify = %v, want that the port is not allowed", err)
	}
}

// Some resolvers read these as addresses, others as names; none may get through.
func TestAWrappedPrivateAddressIsNotCalled(t *testing.T) {
	r := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1.", "①②⑦.0.0.1"} {
		s := newSender(t, func(o *webhook.Options) { o.AllowPrivateNetworks, o.Resolver = false, resolver(nil) })
		if err := s.Notify(t.Context(), notice("http://"+host+":"+port)); err == nil {
			t.Errorf("Notify to %s = nil, want an error", host)
		}
	}
	if came := r.all(); len(came) != 0 {
		t.Errorf("%d notices came", len(came))
	}
}

func TestAnInvalidURLIsNotCalled(t *testing.T) {
	for _, address := range []string{"", "hooks", "ftp://app.example/" + hidden, "file:///etc/passwd", "http://", "http:///hooks", "http://%zz/" + hidden, "javascript:1", "http://app.example:port/"} {
		s, n := newSender(t), notice("")
		n.URL = address
		discreet(t, s.Notify(t.Context(), n))
		s.last(t, webhook.ClassBlocked, 0)
	}
}

// names are the addresses of fully qualified names.
type names map[string][]string

// resolver resolves these names only, without a server.
func resolver(known names) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			known.serve(server)
			_ = server.Close()
		}()
		return client, nil
	}}
}

// serve answers queries as DNS over a stream does: each message after its
// length in two bytes.
func (n names) serve(c io.ReadWriter) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := n.reply(query)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// reply returns the reply to a query with one question, after a header of 12 bytes.
func (n names) reply(query []byte) []byte {
	var name strings.Builder
	end := 12
	for query[end] != 0 {
		size := int(query[end])
		name.Write(query[end+1 : end+1+size])
		name.WriteByte('.')
		end += 1 + size
	}
	end += 5 // the empty label, type and class
	kind := binary.BigEndian.Uint16(query[end-4:])
	addresses, ok := n[name.String()]
	var records []byte
	count := uint16(0)
	for _, address := range addresses {
		ip := netip.MustParseAddr(address)
		if ip.Is4() != (kind == 1) || ip.Is6() != (kind == 28) {
			continue
		}
		count++
		records = append(records, 0xc0, 12) // the name of the question
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0) // class, life
		records = binary.BigEndian.AppendUint16(records, uint16(len(ip.AsSlice())))
		records = append(records, ip.AsSlice()...)
	}
	code := byte(0)
	if !ok {
		code = 3 // there is no such name
	}
	reply := append([]byte{query[0], query[1], 0x84, 0x80 | code, 0, 1}, byte(count>>8), byte(count), 0, 0, 0, 0)
	return append(append(reply, query[12:end]...), records...)
}
