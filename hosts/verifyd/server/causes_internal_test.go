// Tests of log lines about what is unavailable.

package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

func TestEachCauseIsLoggedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(newCauses(slog.NewTextHandler(&b, nil)))
		for i := range 50 {
			for _, cause := range []string{fmt.Sprintf("read tcp 127.0.0.1:%d: reset", 40000+i), "the disk is full"} {
				log.With("request_id", i).Warn("service unavailable", "error", pgerror.Unavailable("database", "the database does not answer", errors.New(cause)))
			}
		}
		log.Warn("other", "error", verification.Unavailable("store", "is closed"))
		time.Sleep(causeEvery) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		lines := strings.SplitAfterN(b.String(), "\n", 4)
		first, later := strings.Join(lines[:len(lines)-1], ""), lines[len(lines)-1]
		for _, want := range []string{
			`msg="service unavailable" request_id=0 error="database: the database does not answer: read tcp 127.0.0.1:40000: reset"`,
			`msg="service unavailable" request_id=0 error="database: the database does not answer: the disk is full"`,
			`msg=other error="store: is closed"`,
		} {
			if strings.Count(first, want) != 1 {
				t.Errorf("the log lacks %s:\n%s", want, first)
			}
		}
		if n := strings.Count(b.String(), "\n"); n != 5 {
			t.Errorf("the log has %d lines, want 5:\n%s", n, &b)
		}
		if strings.Count(later, "request_id=0") != 2 || strings.Count(later, "left_out=49") != 2 {
			t.Errorf("the log does not count what it left out:\n%s", later)
		}
		log.Warn("other", "error", verification.Unavailable("store", "is closed"))
		if n := strings.Count(b.String(), "msg=other"); n != 2 {
			t.Errorf("after a pause the cause is logged %d times, want twice", n)
		}
	})
}

func TestOtherLinesStayAsTheyAre(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(newCauses(slog.NewTextHandler(&b, nil)))
	for range 3 {
		log.Warn("failed", "error", errors.New("no"), "run", "r")
		log.Error("failed", "run", "r", "error", &verification.Error{Kind: verification.ErrUnavailable, Cause: errors.New("why")})
	}
	if n := strings.Count(b.String(), "\n"); n != 6 || strings.Count(b.String(), ": why") != 3 {
		t.Errorf("the log has %d lines, want 6, three with a cause:\n%s", n, &b)
	}
}
