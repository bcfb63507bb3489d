package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"
)

func TestAStopIsNotLoggedAsAnError(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	late, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // it is what the row is about
		log  func(*slog.Logger, context.Context)
		want bool
	}{
		{"an error", t.Context(), func(l *slog.Logger, ctx context.Context) { l.ErrorContext(ctx, "x") }, true},
		{"a warning", t.Context(), func(l *slog.Logger, ctx context.Context) { l.WarnContext(ctx, "x") }, true},
		{"an information", t.Context(), func(l *slog.Logger, ctx context.Context) { l.InfoContext(ctx, "x") }, false},
		{"an error of a timeout", late, func(l *slog.Logger, ctx context.Context) { l.ErrorContext(ctx, "x") }, true},
		{"an error of what was told to stop", stopped, func(l *slog.Logger, ctx context.Context) { l.ErrorContext(ctx, "x") }, false},
	} {
		var out bytes.Buffer
		tt.log(slog.New(onlyWarnings{slog.NewTextHandler(&out, nil)}), tt.ctx)
		if got := out.Len() > 0; got != tt.want {
			t.Errorf("%s is logged: %v, want %v", tt.name, got, tt.want)
		}
	}
}
