// The check of a search key.

package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// SearchCheck returns a hash that tells search keys apart, and is not secret.
func SearchCheck(key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("verifyd search key"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
