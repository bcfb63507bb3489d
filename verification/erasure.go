// Erasures: the entries of the ledger of erasures.

package verification

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Erasure says that a run was redacted, deleted, held or restricted, or that a hold or a restriction ended. It has
// no personal data and no reason.
type Erasure struct {
	// Ledger is the id of the ledger, which its store has as well, and Number is the place of the entry in it, from 1.
	// Both are empty in entries of earlier builds, which come first and have the numbers from 1 in their order.
	Ledger string `json:"ledger,omitempty"`
	Number int64  `json:"number,omitempty"`
	// Through is the last number that an entry of the kind ErasureLost stands for; 0 for Number alone.
	Through int64 `json:"through,omitempty"`

	Tenant TenantID    `json:"tenant"`
	Run    RunID       `json:"run"`
	Kind   ErasureKind `json:"kind"`
	// At is the time of what was done, to the microsecond, and StartedAt is when the run started.
	At        time.Time `json:"at"`
	StartedAt time.Time `json:"started_at"`
}

// ErasureKind says what was done to a run, or what an ErasureLedger has in place of an entry.
type ErasureKind string

// The kinds of entries. The last three are of no run: the first entry with a number, numbers whose entries an
// operator has accepted as lost, and the rest.
const (
	ErasureRedacted ErasureKind = "redacted"
	ErasureDeleted  ErasureKind = "deleted"
	ErasureHeld     ErasureKind = "held"
	ErasureReleased ErasureKind = "hold_ended"
	ErasureLimited  ErasureKind = "restricted"
	ErasureLifted   ErasureKind = "restriction_lifted"
	ErasureOpened   ErasureKind = "opened"
	ErasureLost     ErasureKind = "lost"

	// ErasureUnreadable is in place of an entry that cannot be read, and ErasureUnfinished of one whose writer
	// stopped in the middle. ErasureCounted says that the ledger once had the entries up to Number.
	ErasureUnreadable ErasureKind = "unreadable"
	ErasureUnfinished ErasureKind = "unfinished"
	ErasureCounted    ErasureKind = "counted"
)

// checksumField is between the content of an entry and its checksum, which ends the line.
const (
	checksumField = `,"checksum":"`
	checksumBytes = 8
)

// Line returns the entry as ledgers keep it: JSON that ends with a checksum of everything before it. An entry
// without a number has none.
func (e Erasure) Line() ([]byte, error) {
	raw, err := json.Marshal(e)
	if err != nil || e.Number == 0 {
		return raw, err
	}
	raw = raw[:len(raw)-1]
	return append(raw, checksumField+checksumOf(raw)+`"}`...), nil
}

// ParseErasure returns the entry of a line. Its kind is ErasureUnfinished if the line is the beginning of one, and
// ErasureUnreadable if it is anything else.
func ParseErasure(line []byte) Erasure {
	var e Erasure
	const end = len(checksumField) + 2*checksumBytes + len(`"}`)
	known := json.Unmarshal(line, &e) == nil && e.Run != "" && e.known()
	switch {
	case known && e.Number == 0 && !strings.Contains(string(line), checksumField):
		return e
	case len(line) > end && json.Valid(line) && string(line[len(line)-end:]) == checksumField+checksumOf(line[:len(line)-end])+`"}`:
		if json.Unmarshal(line, &e) == nil && e.Number > 0 && e.known() {
			return e
		}
	case unfinished(line):
		return Erasure{Kind: ErasureUnfinished}
	}
	return Erasure{Kind: ErasureUnreadable}
}

// known reports whether an entry in a ledger may have the kind.
func (e Erasure) known() bool {
	switch e.Kind {
	case ErasureRedacted, ErasureDeleted, ErasureHeld, ErasureReleased, ErasureLimited, ErasureLifted, ErasureOpened, ErasureLost:
		return true
	case ErasureUnreadable, ErasureUnfinished, ErasureCounted:
	}
	return false
}

// unfinished reports whether a line is the beginning of an entry and not a whole one that was damaged.
func unfinished(line []byte) bool {
	begins := func(with string) bool {
		n := min(len(line), len(with))
		return string(line[:n]) == with[:n]
	}
	printable := !strings.ContainsFunc(string(line), func(r rune) bool { return r < ' ' || r > '~' })
	return printable && (begins(`{"ledger":"`) || begins(`{"tenant":"`)) && !strings.HasSuffix(string(line), "}")
}

func checksumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%x", sum[:checksumBytes])
}
