// The check of a search key.

package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// MinSearchKey is the minimum length of the search key, in bytes.
const MinSearchKey = 32

// SearchCheck returns a hash that tells search keys apart, and is not secret.
func SearchCheck(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("verifyd search key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
