package media_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
)

// largest returns uploads of the maximum size; only their length is in memory.
func largest(head, tail []byte) func() io.Reader {
	filling := int64(verification.MaxDocumentBytes - len(head) - len(tail))
	return func() io.Reader {
		return io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, filling), bytes.NewReader(tail))
	}
}

func BenchmarkSanitize(b *testing.B) {
	jpeg, pdf := someJPEG(), somePDF(0)
	for name, content := range map[string]func() io.Reader{
		"jpeg": largest(jpeg[:len(jpeg)-2], jpeg[len(jpeg)-2:]),
		"pdf":  largest(pdf[:10], pdf[10:]),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(verification.MaxDocumentBytes)
			b.ReportAllocs()
			for b.Loop() {
				_, kept, err := media.Sanitize(b.Context(), content(), nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, kept); err != nil {
					b.Fatal(err)
				}
				_ = kept.Close()
			}
		})
	}
}
