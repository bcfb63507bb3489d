// What tests reach besides the exported names.

package linear

import (
	"context"
	"time"
)

// PlayWithin plays a trial with timeouts of its own.
func PlayWithin(ctx context.Context, s *Stage, t Trial, most, grace time.Duration) (History, error) {
	return s.play(ctx, t, most, grace)
}
