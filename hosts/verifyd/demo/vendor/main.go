// Command vendor serves the vendor of the demo, for hosts with a database.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vendor: "+err.Error())
		os.Exit(1)
	}
}

// serve serves the vendor until ctx ends, with the secrets of the hosts.
func serve(ctx context.Context) error {
	const token, hook = cli.SecretPrefix + demovendor.TokenSecret, cli.SecretPrefix + demovendor.HookSecret
	v := &demovendor.Vendor{Token: os.Getenv(token), Hook: os.Getenv(hook), Clock: clock.System{}, Log: slog.Default()}
	if v.Token == "" || v.Hook == "" {
		return fmt.Errorf("set %s and %s, to the same values as for the hosts", token, hook)
	}
	server := &http.Server{Addr: demovendor.VendorAddr, Handler: v, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
