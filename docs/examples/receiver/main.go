// Command receiver receives the notices of a verifyd and prints each once.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
)

func main() {
	s := &http.Server{
		Addr: os.Getenv("LISTEN"), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		Handler: receive(os.Getenv("WEBHOOK_SECRET"), func(n client.Webhook) error {
			_, err := fmt.Printf("%s %s of %s\n", n.ID, n.Type, n.Data.ReferenceID)
			return err
		}),
	}
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		slog.Error("the receiver ends", "error", err)
		os.Exit(1)
	}
}

// receive returns a handler that verifies notices and saves each once. A real receiver keeps the ids
// in its database, in the transaction that saves the notice.
func receive(secret string, save func(client.Webhook) error) http.HandlerFunc {
	var mu sync.Mutex
	saved := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request) {
		notice, err := client.ReadWebhook(r, time.Now(), secret)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !saved[notice.ID] && save(notice) != nil {
			w.WriteHeader(http.StatusInternalServerError) // the host sends it again
			return
		}
		saved[notice.ID] = true
		w.WriteHeader(http.StatusNoContent)
	}
}
