// Reading a file that may name many others.

package bootstrap

import (
	"context"

	"github.com/verifyd/verifyd/internal/definitions"
)

// Read reads a file as definitions.ReadBootstrap does. It returns the error of ctx soon
// after ctx ends.
func Read(
	ctx context.Context, file string, raw []byte, open func(path string) ([]byte, error), getenv func(name string) string,
) (definitions.Bootstrap, error) {
	b, err := definitions.ReadBootstrap(file, raw, func(path string) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return open(path)
	}, getenv)
	if ctx.Err() != nil {
		return definitions.Bootstrap{}, ctx.Err()
	}
	return b, err
}
