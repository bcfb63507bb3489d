// The routes that need no credentials.

package client

import (
	"context"
	"net/http"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

// Welcome returns the name of the service and the path of its OpenAPI document. It needs no
// credentials.
func (c *Client) Welcome(ctx context.Context) (apitypes.Welcome, error) {
	call := get("welcome", "")
	call.credentials = nobody
	return read[apitypes.Welcome](ctx, c, call)
}

// ReadOpenAPI returns the OpenAPI document of the host, in YAML. It needs no credentials.
func (c *Client) ReadOpenAPI(ctx context.Context) ([]byte, error) {
	call := get("readOpenAPI", "openapi.yaml")
	call.credentials = nobody
	got, err := c.do(ctx, call)
	return got.body, err
}

// ReadReportKeys returns the public keys that verify the signatures of reports, as a JWK set. It
// needs no credentials.
func (c *Client) ReadReportKeys(ctx context.Context) ([]byte, error) {
	call := get("readReportKeys", ".well-known", "jwks.json")
	call.credentials = nobody
	got, err := c.do(ctx, call)
	return got.body, err
}

// ReceiveCallback sends the result of a check to the host, as a vendor does. token is the last part of
// the URL that the host sent to the vendor; header has the vendor's signature and the Content-Type.
// It is for tests of vendors, and needs no credentials. A repetition changes nothing.
//
// Errors: ErrInvalid says that the callback cannot be read, ErrForbidden that its signature is not
// valid, and ErrNotFound that the token is not.
func (c *Client) ReceiveCallback(ctx context.Context, token string, header http.Header, body []byte) (apitypes.CallbackResult, error) {
	return read[apitypes.CallbackResult](ctx, c, call{
		operation: "receiveCallback", method: http.MethodPost, path: join([]string{"callbacks", token}),
		header: header, body: body, credentials: nobody,
	})
}
