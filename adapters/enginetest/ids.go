// IDs that are the same in every run of a test, and tokens that can be read.

package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/verifyd/verifyd/verification"
)

// SeededIDs returns a function that makes the same IDs in the same order for the same
// seed. Later IDs sort later.
func SeededIDs(seed uint16) verification.NewID {
	var made atomic.Uint64
	return func() string {
		return fmt.Sprintf("00000000-0000-7000-8%03x-%012x", seed&0xfff, made.Add(1))
	}
}

// Links returns a LinkSigner for tests. Its tokens are not signed: they are the link as hexadecimal JSON.
func Links() verification.LinkSigner { return links{} }

type links struct{}

func (links) SignLink(l verification.Link) (string, error) {
	raw, err := json.Marshal(l)
	return fmt.Sprintf("%x", raw), err
}

func (links) OpenLink(token string) (verification.Link, error) {
	var raw []byte
	var l verification.Link
	if _, err := fmt.Sscanf(token, "%x", &raw); err != nil || json.Unmarshal(raw, &l) != nil {
		return verification.Link{}, &verification.Error{
			Kind: verification.ErrInvalid, Subject: "link", Cause: errors.New("not made by these links"),
		}
	}
	return l, nil
}
