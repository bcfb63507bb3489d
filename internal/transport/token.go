// Responses of token endpoints.

package transport

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// TokenResponse returns the response of a token endpoint as golang.org/x/oauth2 needs it: without
// a byte order mark, and with a whole number as its expires_in. Some servers send 3600.0, also as
// a string.
func TokenResponse(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	var fields map[string]json.RawMessage
	var number json.Number
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["expires_in"], &number) != nil {
		return raw
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > math.MaxInt32 {
		return raw
	}
	fields["expires_in"] = json.RawMessage(strconv.FormatInt(int64(seconds), 10))
	whole, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return whole
}
