// What the object store answers, in the words of the rules.

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// translate tells by its code what an error of the client means. Of an answer
// only the code is passed on: its text may repeat parts of the request.
func translate(ctx context.Context, err error) error {
	var answer minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answer):
		return answered(answer)
	case unreachable(err):
		return unavailable(err)
	default:
		return err
	}
}

func answered(a minio.ErrorResponse) error {
	err := fmt.Errorf("the object store answers %d %s", a.StatusCode, a.Code)
	switch {
	case a.Code == minio.NoSuchKey:
		return notFound()
	case a.Code == minio.PreconditionFailed || a.StatusCode == http.StatusPreconditionFailed:
		return taken()
	case a.Code == "RequestTimeout" || busy(a.StatusCode):
		return unavailable(err)
	default:
		return err
	}
}

// busy tells whether a status says to try again later. 409 is the answer to two
// who write one object at once, when neither has won yet.
func busy(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// unreachable tells whether there was no answer, or half of one.
func unreachable(err error) bool {
	var request *url.Error
	var network net.Error
	return errors.As(err, &request) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

func notFound() error {
	return &verification.Error{Kind: verification.ErrNotFound, Subject: "document"}
}

func taken() error {
	return &verification.Error{Kind: verification.ErrConflict, Subject: "document", Message: "a document has that id"}
}

func unavailable(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "document", Message: "files cannot be reached now", Cause: cause,
	}
}
