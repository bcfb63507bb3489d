package expression_test

import (
	"testing"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
)

func BenchmarkHolds(b *testing.B) {
	for name, text := range map[string]string{
		"check":  `steps.pan.data.name_match < 0.8 || !steps.pan.passed`,
		"fields": `steps.details.data.age >= 18 && steps.details.data.country in ["IN", "NP"]`,
		"loop":   `steps.pan.data.hits.exists(h, h.score > 0.5)`,
		"light":  `steps.pan.passed && steps.pan.dispatches == 1`,
	} {
		b.Run(name, func(b *testing.B) {
			c, s := compiled(b, text), reached()
			s.Steps[2].Data = verification.Data(`{"name_match":0.91,"name":"Asha R","hits":[{"score":0.9}]}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := c.Holds(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	tpl, err := language.Template(verification.Data(
		`{"number":"${steps.details.data.pan}","name":"${input.name}","note":"for ${run.reference_id}, ${input.age} years"}`), declared())
	if err != nil {
		b.Fatal(err)
	}
	s := reached()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tpl.Render(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.Run("condition", func(b *testing.B) {
		d := declared()
		for b.Loop() {
			if _, err := language.Condition(`steps.pan.data.name_match < 0.8 || !steps.pan.passed`, d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("language", func(b *testing.B) {
		for b.Loop() {
			expression.New()
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s, err := language.Schema(verification.Data(onboarding))
	if err != nil {
		b.Fatal(err)
	}
	d := reached().Input
	b.ReportAllocs()
	for b.Loop() {
		if problems := s.Check(d); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
