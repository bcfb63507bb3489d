package postgres

import (
	"context"
	"time"
)

// ForgetKeys lets tests forget records without the rest of the upkeep.
func (s *Store) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.forgetKeys(ctx, before, limit)
}
