// Opening a data folder, whoever holds it.

package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/memory/journal"
)

// Options are the options of Open.
type Options struct {
	Now time.Time // that a host is told which finds the folder held
	Log *slog.Logger
	// Wait is how long a host that holds the folder may take to answer; 0 means DefaultWait.
	Wait time.Duration
}

// DefaultWait is the default of Options.Wait. A host reads the journal before it answers.
const DefaultWait = 15 * time.Second

// retryAfter is the time between two attempts to open a folder.
const retryAfter = 100 * time.Millisecond

// Open opens the data of a folder: through the host that holds it, or else it takes the folder
// until Close. It creates no folder.
func Open(ctx context.Context, folder datadir.Folder, o Options) (Data, error) {
	var held *Held
	host, err := reach(ctx, folder, o, func() (err error) {
		held, err = Take(ctx, folder, journal.Options{OpenedAt: o.Now, Log: o.Log})
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case host != nil:
		return host, nil
	}
	return held, nil
}

// reach returns the host that holds a folder. If there is none, it calls take, which returns
// ErrHeld if a process has the folder after all, and returns nil.
func reach(ctx context.Context, folder datadir.Folder, o Options, take func() error) (*Client, error) {
	if err := Examine(folder); err != nil {
		return nil, err
	}
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	for began := time.Now(); ; {
		host, err := attempt(ctx, folder, o.Wait, take)
		if err == nil || !errors.Is(err, journal.ErrHeld) || ctx.Err() != nil {
			return host, err
		}
		if time.Since(began) > o.Wait {
			return nil, err
		}
		select { // the host is starting, or ending
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryAfter):
		}
	}
}

// Examine returns an error unless the folder is a data folder.
func Examine(folder datadir.Folder) error {
	info, err := os.Stat(folder.Journal())
	switch {
	case errors.Is(err, fs.ErrNotExist) && folder.Used(): // its journal is lost, as the journal says
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is no data folder: it has no folder journal, which verifyd serve --data-dir makes", folder)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: run this command as the user who owns the folder", err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is no data folder: it is a file", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no data folder: %s is a file", folder, folder.Journal())
	}
	return nil
}

// attempt is reach without another attempt.
func attempt(ctx context.Context, folder datadir.Folder, wait time.Duration, take func() error) (*Client, error) {
	c := newClient(folder)
	conn, err := dial(ctx, folder)
	if err == nil {
		_ = conn.Close() // nothing was written
		if err := c.answers(ctx, wait); err != nil {
			return nil, fmt.Errorf("the host that has %s: %w", folder, err)
		}
		return c, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: run this command as the user of the host", err)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
		return nil, err
	}
	return nil, take()
}

// Take opens a folder that no host has, or makes one. It returns an error if the folder is of
// another user, and journal.ErrHeld if a process has it.
func Take(ctx context.Context, folder datadir.Folder, o journal.Options) (*Held, error) {
	if err := folder.Check(); err != nil {
		return nil, err
	}
	o.Used = folder.Used()
	j, err := journal.Open(ctx, folder.Journal(), o)
	if err != nil {
		return nil, err
	}
	return Hold(folder, j, Host{}), nil
}

// Check examines the journal of a folder, see journal.Check.
func Check(ctx context.Context, folder datadir.Folder) (journal.Report, error) {
	if err := Examine(folder); err != nil {
		return journal.Report{}, err
	}
	return journal.Check(ctx, folder.Journal(), folder.Used())
}

// Repair repairs the journal of a folder, see journal.Repair. It returns an error if the folder is of
// another user.
func Repair(ctx context.Context, folder datadir.Folder, now time.Time, accept bool) (journal.Repaired, error) {
	err := Examine(folder)
	if err == nil {
		err = folder.Check()
	}
	if err != nil {
		return journal.Repaired{}, err
	}
	return journal.Repair(ctx, folder.Journal(), folder.Used(), now, accept)
}
