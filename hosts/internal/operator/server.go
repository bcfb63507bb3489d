// The host's side of the socket.

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/netutil"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
)

// The bounds of the server.
const (
	maxConnections = 8
	maxRequest     = 64 << 20 // in bytes: what a record of the journal may have
	callTimeout    = time.Minute
	stopTimeout    = 5 * time.Second
)

const (
	callPath   = "/call/"
	backupPath = "/backup"
)

// Serve serves the data of a folder on the socket of the folder until stop is called, which
// waits for calls in flight, at most 5 seconds. Serve replaces the socket of a process that has
// died: the caller must hold the folder.
func Serve(ctx context.Context, folder datadir.Folder, data *Held, log *slog.Logger) (stop func(), err error) {
	return serve(ctx, folder, data, data.Backup, log)
}

func serve(
	ctx context.Context, folder datadir.Folder, p Ports, backup func(context.Context, io.Writer) error, log *slog.Logger,
) (stop func(), err error) {
	l, remove, err := listen(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("listen for operators: %w", err)
	}
	s := http.Server{
		Handler:           handler(p, backup, log),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       callTimeout,
		WriteTimeout:      2 * callTimeout,
		IdleTimeout:       callTimeout,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("operators are no longer served", "error", err)
		}
	}()
	return func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		remove()
		if err := s.Shutdown(stopping); err != nil {
			_ = s.Close() // ends the calls that are still in flight
		}
		<-ended
	}, nil
}

func handler(p Ports, backup func(context.Context, io.Writer) error, log *slog.Logger) http.Handler {
	mux, methods := http.NewServeMux(), reflect.TypeFor[Ports]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		mux.Handle("POST "+callPath+name, method(reflect.ValueOf(p).MethodByName(name)))
	}
	mux.HandleFunc("GET "+backupPath, func(w http.ResponseWriter, r *http.Request) {
		if err := backup(r.Context(), &patient{w, http.NewResponseController(w)}); err != nil {
			log.WarnContext(r.Context(), "a backup has failed", "error", err)
			panic(http.ErrAbortHandler) // the client sees that the archive ends early
		}
	})
	return mux
}

// patient is a response that may take long, as long as the client reads it.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(callTimeout)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// method serves one method.
func method(call reflect.Value) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		in, err := arguments(ctx, call.Type(), raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		raw, err = encodeResults(call.Call(in))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(raw) // the client may have gone
	}
}

// arguments decodes the arguments of a call.
func arguments(ctx context.Context, method reflect.Type, raw []byte) ([]reflect.Value, error) {
	var given []jsontext.Value
	if err := decode(raw, &given); err != nil {
		return nil, err
	}
	in := []reflect.Value{reflect.ValueOf(ctx)}
	if len(given) != method.NumIn()-len(in) {
		return nil, fmt.Errorf("there are %d arguments", len(given))
	}
	for i, text := range given {
		value := reflect.New(method.In(i + 1))
		if err := decode(text, value.Interface()); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		in = append(in, value.Elem())
	}
	return in, nil
}

// encodeResults encodes the results of a call. The last one is the error.
func encodeResults(out []reflect.Value) ([]byte, error) {
	last := len(out) - 1
	failed, _ := out[last].Interface().(error) // nil if there is none
	a := answer{Error: newFailure(failed)}
	for _, value := range out[:last] {
		text, err := encode(value.Interface())
		if err != nil {
			return nil, err
		}
		a.Results = append(a.Results, text)
	}
	return encode(a)
}
