// Ids that are the same at every run of a test, and tokens that can be read.

package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/verifyd/verifyd/verification"
)

// SeededIDs makes the same ids in the same order for the same seed; later ones
// sort later.
func SeededIDs(seed uint16) verification.NewID {
	var made atomic.Uint64
	return func() string {
		return fmt.Sprintf("00000000-0000-7000-8%03x-%012x", seed&0xfff, made.Add(1))
	}
}

// Links makes journey tokens that are plain text: never use it outside tests.
type Links struct{}

// SignLink writes the link as hexadecimal JSON.
func (Links) SignLink(l verification.Link) (string, error) {
	raw, err := json.Marshal(l)
	return fmt.Sprintf("%x", raw), err
}

// OpenLink reads what SignLink wrote.
func (Links) OpenLink(token string) (verification.Link, error) {
	var raw []byte
	var l verification.Link
	if _, err := fmt.Sscanf(token, "%x", &raw); err != nil || json.Unmarshal(raw, &l) != nil {
		return verification.Link{}, &verification.Error{
			Kind: verification.ErrInvalid, Subject: "link", Cause: errors.New("not made by these links"),
		}
	}
	return l, nil
}
