// A JWT before its signature is checked.

package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// lastSecond is the last one of the year 9999: what a token says of time stands
// between 1970 and then.
const lastSecond = 253402300799

// unverified is a JWT that may be anybody's. Nothing in it is quoted in an error.
type unverified struct{ header, claims members }

// members are those of a JSON object, by their exact names. The last of two
// with one name counts, as RFC 7519, section 4, allows.
type members map[string]json.RawMessage

// parseJWT reads a compact JWT of at most 8 KiB.
func parseJWT(raw string) (unverified, error) {
	if len(raw) > maxForeign {
		return unverified{}, errors.New("it is longer than 8 KiB")
	}
	if !canonicalJWT(raw) {
		return unverified{}, errors.New("it is not a compact JWT")
	}
	parts := strings.Split(raw, ".")
	header, fine := readMembers(parts[0])
	claims, ok := readMembers(parts[1])
	if !fine || !ok {
		return unverified{}, errors.New("its header or its claims are no JSON object")
	}
	return unverified{header: header, claims: claims}, nil
}

func readMembers(part string) (members, bool) {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil || !utf8.Valid(text) {
		return nil, false
	}
	var m members
	return m, json.Unmarshal(text, &m) == nil && m != nil
}

// checkHeader tells the algorithm and the kid, which is empty if there is none.
// Keys and addresses of keys that a header may hold are not looked at.
func (t unverified) checkHeader() (alg, kid string, err error) {
	alg, _ = t.header.text("alg")
	if !asymmetric(alg) {
		return "", "", errors.New("its alg is not one that an issuer may use")
	}
	if _, there := t.header["crit"]; there {
		return "", "", errors.New("its crit names what is not known here")
	}
	if _, there := t.header["typ"]; there {
		// Ours is a third one, so that neither kind can pass for the other.
		if typ, _ := t.header.text("typ"); typ != "JWT" && typ != "at+jwt" {
			return "", "", errors.New("its typ is neither JWT nor at+jwt")
		}
	}
	if _, there := t.header["kid"]; there {
		var ok bool
		if kid, ok = t.header.text("kid"); !ok {
			return "", "", errors.New("its kid is not a text")
		}
	}
	return alg, kid, nil
}

// text is a string that is there and not empty.
func (m members) text(name string) (string, bool) {
	var s string
	err := json.Unmarshal(m[name], &s)
	return s, err == nil && s != ""
}

// holds tells whether a claim is a text, or a list of them, and has this one.
func (m members) holds(name, want string) bool {
	if one, ok := m.text(name); ok {
		return one == want
	}
	var list []string
	return json.Unmarshal(m[name], &list) == nil && slices.Contains(list, want)
}

// moment is a NumericDate, to the second before it.
func (m members) moment(name string) (time.Time, bool) {
	var n *float64
	if err := json.Unmarshal(m[name], &n); err != nil || n == nil || *n < 0 || *n > lastSecond {
		return time.Time{}, false
	}
	return time.Unix(int64(*n), 0).UTC(), true
}

// affirmed tells whether a claim is true, as a word too, or not there at all.
func (m members) affirmed(name string) bool {
	raw, there := m[name]
	return !there || string(raw) == "true" || string(raw) == `"true"`
}
