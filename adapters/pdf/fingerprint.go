// What a printed report is found again by: everything that is printed of it.

package pdf

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"github.com/verifyd/verifyd/verification"
)

type key [sha256.Size]byte

// fingerprint is a hash over each field that is printed. Each text is preceded
// by its length, so that no two reports read alike.
func fingerprint(r verification.Report) key {
	f := fields{sha256.New()}
	f.texts(string(r.Run.ID), r.Run.ReferenceID, string(r.Run.Status))
	f.times(r.Run.StartedAt, r.Run.CompletedAt)
	f.texts(string(r.Workflow.ID), r.Workflow.Name, r.Workflow.VersionHash, r.Digest)
	f.numbers(r.Workflow.Version, r.Summary.OK, r.Summary.Failed, r.Summary.NeedsReview)
	if r.Error == nil {
		f.numbers(0)
	} else {
		f.numbers(1)
		f.texts(string(r.Error.Code), r.Error.Check, r.Error.Message)
	}
	f.numbers(len(r.Cards))
	for _, c := range r.Cards {
		c = printed(c)
		f.texts(string(c.NodeID), string(c.Type), c.Key, c.Label, string(c.Status), c.Reason, string(c.Data))
		f.times(c.StartedAt, c.CompletedAt)
		f.numbers(c.Dispatches)
	}
	return key(f.h.Sum(nil))
}

type fields struct{ h hash.Hash }

func (f fields) numbers(ns ...int) {
	for _, n := range ns {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		f.h.Write(b[:])
	}
}

func (f fields) texts(ts ...string) {
	for _, t := range ts {
		f.numbers(len(t))
		f.h.Write([]byte(t))
	}
}

func (f fields) times(ts ...time.Time) {
	for _, t := range ts {
		f.texts(moment(t))
	}
}
