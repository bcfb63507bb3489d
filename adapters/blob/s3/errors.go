// Errors of the object store as errors of the domain.

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// translate returns the domain error for an error of the client. Only the code of
// a response is kept: its text may repeat parts of the request.
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
	case errors.As(err, &request), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF):
		return unavailable(err)
	default:
		return err
	}
}

func translateResponse(r minio.ErrorResponse) error {
	err := fmt.Errorf("the object store answers %d %s", r.StatusCode, r.Code)
	switch {
	case r.Code == minio.NoSuchKey:
		return notFound()
	case r.Code == minio.PreconditionFailed, r.StatusCode == http.StatusPreconditionFailed:
		return &verification.Error{Kind: verification.ErrConflict, Subject: "document", Message: "a document has that id"}
	case r.Code == "RequestTimeout", r.StatusCode >= http.StatusInternalServerError, r.StatusCode == http.StatusRequestTimeout,
		r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusConflict: // 409: two concurrent writes of one object
		return unavailable(err)
	default:
		return err
	}
}

// wrap adds the path of the document to an internal error. A full disk, where the
// temporary file is, is ErrUnavailable.
func wrap(verb, name string, err error) error {
	for _, code := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, code) {
			return unavailable(err)
		}
	}
	var expected *verification.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &expected):
		return expected
	default:
		return fmt.Errorf("%s document %s: %w", verb, name, err)
	}
}

func notFound() error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
}

func unavailable(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "document", Message: "files cannot be reached now", Cause: cause,
	}
}
