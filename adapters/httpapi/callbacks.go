// Callbacks: a vendor reports the result of a check, or that it can be polled.

package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// callbackTimeout bounds the processing of a callback, which continues if the vendor
// disconnects.
const callbackTimeout = 30 * time.Second

// receiveCallback delivers a callback. The token in the path and the vendor's
// signature are its credentials.
func (a *api) receiveCallback(w http.ResponseWriter, r *http.Request) {
	res := responseOf(w)
	about := rule{noun: "callback"}
	body, err := rawBody(res, r)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callbackTimeout)
		defer cancel()
		err = a.engine.ReceiveCallback(ctx, pathParam(r, "token"), verification.Callback{Header: r.Header, Body: body})
	}
	if errors.Is(err, verification.ErrUnauthenticated) {
		err = errForged
	}
	if err == nil {
		res.Header()["Cache-Control"] = []string{"no-store"}
		err = a.write(res, http.StatusOK, apitypes.CallbackResult{OK: true})
	}
	if err != nil {
		a.refuse(res, r, about, err)
	}
}
