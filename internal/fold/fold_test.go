// Folding names.

package fold_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/fold"
)

func TestEqualNamesFoldAlike(t *testing.T) {
	for _, same := range [][]string{
		{"José Ángel O'Neill", "jose angel oneill", "JOSE-ANGEL O’NEILL", "Jose\u0301 A\u0301ngel O'Neill", "ＪＯＳＥ　ＡＮＧＥＬ　ＯＮＥＩＬＬ"},
		{"Groß & Söhne GmbH", "GROSS SOHNE GMBH", "Groß  Söhne (GmbH)"},
		{"İbrahim", "IBRAHIM", "i\u0307brahim"},
		{"مُحَمَّد", "محمد", "محـــمد", "\u202bمحمد\u202c"},
		{"Фёдор", "ФЕДОР", "Федор\u200b"},
		{"שָׁלוֹם", "שלום"},
		{"Σίσυφος", "ΣΙΣΥΦΟΣ", "σισυφοσ"},
		{"ｶﾞｽﾞﾌﾟﾛﾑ", "ガズプロム"},
		{"김정은", "\u1100\u1175\u11b7\u110c\u1165\u11bc\u110b\u1173\u11ab", "김\u3164정은"},
		{"3M №", "３m no"},
		{"IŞIL IRMAK", "ışıl ırmak", "Işıl İrmak"},
		{"محمد علي", "محمد علی", "محمد على"},
		{"كريم", "کریم", "ڪريم"},
		{"شاه", "شاہ"},
		{"", "  -&()\u200b"},
	} {
		for _, text := range same[1:] {
			if got, want := fold.Name(text), fold.Name(same[0]); got != want {
				t.Errorf("Name(%q) = %q, want %q as of %q", text, got, want, same[0])
			}
		}
	}
}

func TestDifferentNamesFoldDifferently(t *testing.T) {
	for _, differ := range [][2]string{{"Ali", "Alia"}, {"राम", "रमा"}, {"かき", "がき"}, {"3M", "3N"}, {"กิ", "กุ"}} {
		if got := fold.Name(differ[0]); got == fold.Name(differ[1]) || got == "" {
			t.Errorf("Name of %q and %q are both %q", differ[0], differ[1], got)
		}
	}
}
