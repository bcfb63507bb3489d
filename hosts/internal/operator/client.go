// The operator's side of the socket.

package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Client is the data of a folder through the host that has it. It is safe for concurrent use.
// A call returns ErrUnavailable if the host does not answer.
type Client struct {
	store.Tables // over the Client itself
	keyFile
	backupFile

	http http.Client
}

// base is the URL of the host. The address is the socket.
const base = "http://operator"

// newClient returns a client of the host that has a folder.
func newClient(folder datadir.Folder) *Client {
	c := &Client{keyFile: keyFile{folder}, backupFile: backupFile{folder}, http: http.Client{Transport: &http.Transport{
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, folder) },
		MaxIdleConnsPerHost:   maxConnections,
		MaxConnsPerHost:       maxConnections,
		ResponseHeaderTimeout: 2 * callTimeout,
		DisableCompression:    true,
	}}}
	c.Tables = store.Tables{RowStore: c}
	return c
}

// Close closes the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Backup implements Data.
func (c *Client) Backup(ctx context.Context, to io.Writer) error {
	r, err := c.do(ctx, http.MethodGet, backupPath, nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if _, err := io.Copy(to, r); err != nil {
		return fmt.Errorf("the backup is incomplete: %w; the log of the host may say more", err)
	}
	return nil
}

// call calls a method of the host, and decodes its results into pointers.
func (c *Client) call(ctx context.Context, method string, results []any, args ...any) error {
	body, err := encode(args)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	r, err := c.do(ctx, http.MethodPost, callPath+method, body)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	raw, err := io.ReadAll(r)
	if err != nil {
		return silent(ctx, err)
	}
	var a answer
	if err := decode(raw, &a); err != nil {
		return fmt.Errorf("decode %s: %w%s", method, err, otherBuild)
	}
	if len(a.Results) != len(results) {
		return fmt.Errorf("decode %s: there are %d results%s", method, len(a.Results), otherBuild)
	}
	for i, text := range a.Results {
		if err := decode(text, results[i]); err != nil {
			return fmt.Errorf("decode %s: %w%s", method, err, otherBuild)
		}
	}
	return a.Error.err()
}

const otherBuild = "; use the verifyctl of the same build as the host"

func (c *Client) do(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, silent(ctx, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }()              // it was only read
	text, _ := io.ReadAll(io.LimitReader(response.Body, 500)) // for a message
	return nil, fmt.Errorf("the host refuses %s: %s (%d)%s", strings.TrimPrefix(path, callPath), bytes.TrimSpace(text), response.StatusCode, otherBuild)
}

// silent returns the error of a host that does not answer, or of a caller that has gone.
func silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	gone := verification.Unavailable("host", "it does not answer at the socket in its data folder; read its log")
	gone.Cause = err
	return gone
}

// one calls a method with one result.
func one[T any](ctx context.Context, c *Client, method string, args ...any) (result T, err error) {
	err = c.call(ctx, method, []any{&result}, args...)
	return result, err
}

// answers reports whether the host answers within a time.
func (c *Client) answers(ctx context.Context, within time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := c.Hosts(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("it does not answer within %s; read its log", within)
	}
	return err
}
