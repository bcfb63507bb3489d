package postgres

import (
	"context"
	"time"
)

// ForgetStarts lets tests forget claims without the rest of the upkeep.
func (s *Store) ForgetStarts(ctx context.Context, before time.Time, most int) (int, error) {
	return s.forgetStarts(ctx, before, most)
}
