package blob_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

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
				if _, err := s.SaveDocument(b.Context(), someRun(n%100), upload(n), content); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
