// Digests of records, which do not depend on the store.

package storecopy

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type digest = [sha256.Size]byte

// digestOf returns the digest of a record, and its size in bytes. A nil slice is the same as
// an empty one. The data of events counts byte for byte.
func digestOf(r store.Record) (sum digest, size int, err error) {
	var events []byte
	if run, ok := r.(store.RunRecord); ok {
		if events, err = rules.EncodeEvents(run.Events); err != nil {
			return sum, 0, err
		}
		run.Events = nil
		r = run
	}
	raw, err := json.Marshal(r, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	raw = append(raw, events...)
	return sha256.Sum256(raw), len(raw), err
}

// adder adds up entries, and reports how far it is.
type adder struct {
	options Options
	Progress
	hash hash.Hash
}

func (o Options) newAdder(p Progress) *adder { return &adder{o, p, sha256.New()} }

func (a *adder) add(e entry) {
	a.hash.Write(e.digest[:])
	if a.Records++; a.Records%reportEvery == 0 {
		a.options.Report(a.Progress)
	}
}

func (a *adder) sum() Sum {
	a.Done = true
	a.options.Report(a.Progress)
	return Sum{a.Records, hex.EncodeToString(a.hash.Sum(nil))}
}
