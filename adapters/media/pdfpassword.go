// Passwords of PDF: whether a file opens with none.

package media

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // G501: the algorithm of the format
	"crypto/rc4" //nolint:gosec // G503: the algorithm of the format
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// pdfPadding stands for an empty password (ISO 32000-1, 7.6.3.3).
const pdfPadding = "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08" +
	"\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"

// password returns why the file does not open without a password. Many files are encrypted
// with an empty one, only to forbid copying or printing: they open. So does, as far as is
// known here, a file whose encryption dictionary was not found or is of another handler.
func (s *pdfScan) password() error {
	var handler pdfDict
	switch e := s.encrypt.(type) {
	case pdfDict:
		handler = e
	case pdfRef:
		for _, h := range s.handlers {
			if h.object == int64(e) {
				handler = h.pdfDict
			}
		}
	}
	if handler["Filter"] != pdfName("Standard") {
		return nil
	}
	revision, _ := handler["R"].(int64)
	permissions, _ := handler["P"].(int64)
	owner, _ := handler["O"].([]byte)
	user, _ := handler["U"].([]byte)
	opens := false
	switch {
	case len(owner) < 32 || len(user) < 32:
		return refusePDF
	case revision >= 2 && revision <= 4:
		opens = opensByMD5(revision, owner[:32], user[:32], s.id, uint32(permissions)) // P is written with and without a sign
	case (revision == 5 || revision == 6) && len(user) >= 48:
		hash := hashOf2017
		if revision == 5 {
			hash = func(salt []byte) []byte { sum := sha256.Sum256(salt); return sum[:] }
		}
		opens = bytes.Equal(hash(user[32:40]), user[:32])
	default:
		return refusePDF
	}
	if !opens {
		return refusePassword
	}
	return nil
}

// opensByMD5 reports whether the user password of a file is empty, by algorithms 2, 4, 5 and
// 6 of ISO 32000-1, 7.6.3. Files do not agree on where the length of the key stands, so every
// length is tried: a wrong one opens nothing.
func opensByMD5(revision int64, owner, user, id []byte, permissions uint32) bool {
	seed := append([]byte(pdfPadding), owner...)
	seed = binary.LittleEndian.AppendUint32(seed, permissions)
	seed = append(seed, id...)
	if revision == 2 {
		sum := md5.Sum(seed) //nolint:gosec // G401: the algorithm of the format
		return bytes.Equal(encryptRC4(sum[:5], []byte(pdfPadding)), user)
	}
	check := md5.Sum(append([]byte(pdfPadding), id...))    //nolint:gosec // G401: the algorithm of the format
	for _, end := range []string{"", "\xff\xff\xff\xff"} { // whether the metadata is encrypted, too
		for length := 5; length <= 16; length++ {
			sum := md5.Sum(append(bytes.Clone(seed), end...)) //nolint:gosec // G401: the algorithm of the format
			for range 50 {
				sum = md5.Sum(sum[:length]) //nolint:gosec // G401: the algorithm of the format
			}
			text, key := check[:], make([]byte, length)
			for round := range byte(20) {
				for i := range key {
					key[i] = sum[i] ^ round
				}
				text = encryptRC4(key, text)
			}
			if bytes.Equal(text, user[:16]) {
				return true
			}
		}
	}
	return false
}

func encryptRC4(key, text []byte) []byte {
	c, err := rc4.NewCipher(key) //nolint:gosec // G405: the algorithm of the format
	if err != nil {
		return nil // the length of the key is 5 to 16
	}
	encrypted := make([]byte, len(text))
	c.XORKeyStream(encrypted, text)
	return encrypted
}

// hashOf2017 returns the hash of an empty user password by algorithm 2.B of ISO 32000-2,
// 7.6.4.3.4.
func hashOf2017(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	for round := 0; ; round++ {
		text := bytes.Repeat(k, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil // the key has 16 bytes
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(text, text)
		remainder := 0
		for _, c := range text[:16] {
			remainder += int(c) // 256 is 1 modulo 3
		}
		switch remainder % 3 {
		case 0:
			sum := sha256.Sum256(text)
			k = sum[:]
		case 1:
			sum := sha512.Sum384(text)
			k = sum[:]
		case 2:
			sum := sha512.Sum512(text)
			k = sum[:]
		}
		if round >= 63 && int(text[len(text)-1]) <= round-31 {
			return k[:32]
		}
	}
}
