// Errors of the object store as errors of the domain.

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// translate returns the domain error for an error of the client. Only the code of
// a response is kept: its text may repeat parts of the request. ctx is the context of the caller,
// which ends later than the one of the request.
func translate(ctx context.Context, err error) error {
	var response minio.ErrorResponse
	var request *url.Error
	var network net.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &response):
		return translateResponse(response)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable(errors.New("the object store did not respond in time"))
	case errors.As(err, &request), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF):
		return unavailable(err)
	}
	return err
}

// translateResponse returns the domain error for a response. A refusal is ErrUnavailable, such as one of
// a key that was revoked or a bucket that is gone: the operator mends it, and the customer tries again.
func translateResponse(r minio.ErrorResponse) error {
	err := fmt.Errorf("the object store responded with %d %s", r.StatusCode, r.Code)
	switch {
	case r.Code == minio.NoSuchKey:
		return verification.NotFound("document")
	case r.Code == minio.PreconditionFailed, r.StatusCode == http.StatusPreconditionFailed:
		return verification.Conflict("document", "a document has that id")
	}
	return unavailable(err)
}

// wrap adds the path of the document to an internal error. An error of the temporary
// file, such as a full disk, is ErrUnavailable.
func wrap(verb, name string, err error) error {
	var expected *verification.Error
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &expected):
		return expected
	case errors.As(err, &file):
		return unavailable(err)
	}
	return fmt.Errorf("%s document %s: %w", verb, name, err)
}

func unavailable(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "document", Message: "files cannot be reached now", Cause: cause,
	}
}
