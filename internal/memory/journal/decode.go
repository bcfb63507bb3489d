// Decoding on all processors, in the order of the records.

package journal

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
)

// decoded is a frame with its record.
type decoded struct {
	frame  frame
	record record
	err    error
	unread bool // err is that of reading the frame, and the frame has what was read
}

// batch is how many frames are decoded at once.
const batch = 256

// decodeAll decodes the frames that next returns until it returns io.EOF or another error, which
// is the last result. It stops when ctx ends. Frames are decoded ahead, on several goroutines,
// which have ended when the loop over the results ends.
func decodeAll(ctx context.Context, next func() (frame, error)) iter.Seq[decoded] {
	return func(yield func(decoded) bool) {
		ctx, stop := context.WithCancel(ctx)
		batches := make(chan chan []decoded, runtime.GOMAXPROCS(0))
		defer func() {
			stop()
			for b := range batches {
				<-b
			}
		}()
		go func() {
			defer close(batches)
			for more := true; more && ctx.Err() == nil; {
				var frames []decoded
				frames, more = readBatch(next)
				result := make(chan []decoded, 1)
				batches <- result
				go func() {
					for i, d := range frames {
						if d.err == nil {
							frames[i].record, frames[i].err = decode(d.frame)
						}
					}
					result <- frames
				}()
			}
		}()
		for b := range batches {
			for _, d := range <-b {
				if ctx.Err() != nil || !yield(d) {
					return
				}
			}
		}
	}
}

// readBatch reads frames. more reports whether none of them is the last.
func readBatch(next func() (frame, error)) (frames []decoded, more bool) {
	for len(frames) < batch {
		f, err := next()
		if errors.Is(err, io.EOF) {
			return frames, false
		}
		frames = append(frames, decoded{frame: f, err: err, unread: err != nil})
		if err != nil {
			return frames, false
		}
	}
	return frames, true
}
