package blob_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

func BenchmarkIntake(b *testing.B) {
	jpeg, pdf := someJPEG(), somePDF(0)
	for name, content := range map[string]func() io.Reader{
		"jpeg": largest(jpeg[:len(jpeg)-2], jpeg[len(jpeg)-2:]),
		"pdf":  largest(pdf[:10], pdf[10:]),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(verification.MaxDocumentBytes)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := blob.Intake(b.Context(), upload(1), nil, content(), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFolder(b *testing.B) {
	for _, size := range []int{100_000, verification.MaxDocumentBytes} {
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			s := folder(b, b.TempDir())
			pdf := somePDF(0)
			filling := int64(size - len(pdf))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				content := io.MultiReader(bytes.NewReader(pdf[:10]), io.LimitReader(zeros{}, filling), bytes.NewReader(pdf[10:]))
				if _, err := s.SaveDocument(b.Context(), someRun(n%100), upload(n), nil, content); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
