package pdf_test

import (
	"fmt"
	"testing"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
)

func BenchmarkPrint(b *testing.B) {
	steps := sample()
	for i := range 17 {
		steps.Cards = append(steps.Cards, sample().Cards[i%5])
	}
	hindi := sample()
	for i := range hindi.Cards {
		hindi.Cards[i].Label = "पैन सत्यापन"
		hindi.Cards[i].Data = object(12, "क्षेत्र", "छत्रपति शिवाजी महाराज मार्ग, मुंबई ४००००१")
	}
	full := sample()
	full.Cards = nil
	for i := range 40 {
		c := sample().Cards[2]
		c.NodeID = verification.NodeID(fmt.Sprint(i))
		c.Data = object(500, "क्षेत्र", "छत्रपति शिवाजी महाराज मार्ग, मुंबई ४००००१")
		full.Cards = append(full.Cards, c)
	}
	for _, bb := range []struct {
		name   string
		report report.Print
		cache  int
	}{
		{"5 steps", sample(), -1},
		{"22 steps", steps, -1},
		{"5 steps in Hindi", hindi, -1},
		{"all the lines there may be", full, -1},
		{"22 steps, kept", steps, 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := printer(b, pdf.Options{CacheBytes: bb.cache})
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				out, err := p.PrintReport(b.Context(), "tenant", bb.report)
				if err != nil {
					b.Fatal(err)
				}
				size = len(out)
			}
			b.ReportMetric(float64(size), "B/document")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		printer(b, pdf.Options{})
	}
}
