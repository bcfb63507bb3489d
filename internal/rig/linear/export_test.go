// Names that the tests of this package need besides the exported ones.

package linear

import (
	"context"
	"time"
)

// PlayWithin runs a trial with other timeouts.
func PlayWithin(ctx context.Context, s *Stage, t Trial, timeout, grace time.Duration) (History, error) {
	return s.play(ctx, t, timeout, grace)
}
