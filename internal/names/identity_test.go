// The quality of Identify on names as registries and customers write them.

package names_test

import (
	"testing"

	"github.com/verifyd/verifyd/internal/names"
)

// identified returns whether two names are one.
func identified(t testing.TB, c *names.Comparer, kind, a, b string) names.Match {
	t.Helper()
	k, err := names.ParseKind(kind)
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.ParseRegistered(k, a)
	if err != nil {
		t.Fatalf("ParseRegistered(%q): %v", a, err)
	}
	second, err := c.ParseRegistered(k, b)
	if err != nil {
		t.Fatalf("ParseRegistered(%q): %v", b, err)
	}
	return c.Identify(first, second)
}

func TestNamesOfRegistriesAreToldApart(t *testing.T) {
	for file, most := range map[string]int{"identity-cases.csv": 0, "identity-held-out.csv": 8} { // that are wrong
		t.Run(file, func(t *testing.T) {
			c := names.New()
			v := &verdicts{}
			for _, row := range pairs(t, "testdata/"+file) {
				habit, kind, name, other, same, why := row[0], row[1], row[2], row[3], row[4] == "yes", row[5]
				m := identified(t, c, kind, name, other)
				got := m.Score >= threshold
				v.add(same, got)
				if same != got {
					t.Logf("%s: %q and %q (%s): %.3f, want same=%v: %v %q", habit, name, other, why, m.Score, same, m.Parts, m.Notes)
				}
			}
			t.Logf("precision %.3f, recall %.3f: %+v", v.precision(), v.recall(), *v)
			if wrong := v.misses + v.alarms; wrong > most {
				t.Errorf("%d pairs are wrong, want at most %d", wrong, most)
			}
		})
	}
}

func TestAnotherNameBesideTheNameIsRefused(t *testing.T) {
	c := names.New()
	for _, name := range [][2]string{{"Ravi", "Kumar"}, {"María", "García"}, {"Ahmed", "Hassan"}, {"Сергей", "Петров"}, {"राजेश", "शर्मा"}, {"Wei", "Zhang"}} {
		registered := name[0] + " " + name[1]
		for _, other := range []string{
			"Asha Rao", "Ms Asha Rao", "A. Rao", "A. R.", "Asha R.", "Rao, Asha", "Asha-Rao", "Asha.Rao", "Asha'Rao", "Asha’Rao", "AshaRao", "ashaRao", "ASHA RAO",
			"asharao", "ASHARAO", "Asha bin Rao", "de Asha de Rao", "E. Rao", "Asha King", "Lachlan King", "Asha Prince", "Mohammed Asha", "आशा राव", "آشا راو", "عمر سعيد",
			"Аша Рао", "阿莎 拉奥", "김민수 이", "Ñusta Quispe", "Thuy Vo", "Ivan Petrovich", "ivanpetrovich", "Asha Jr", "Sri Asha Rao", "O. Lê", "H. Do", "Asha\u200bRao", "asha\u00adrao", "Asha 2", "A5ha R4o",
		} {
			for _, text := range []string{other + " " + registered, registered + " " + other, name[0] + " " + other + " " + name[1], other + " " + name[1] + " " + name[0], other + ", " + registered, registered + "/" + other} {
				if m := identified(t, c, "person", text, registered); m.Score >= 0.5 || len(m.Notes) == 0 {
					t.Errorf("%q is %q: %.3f %q, want a refusal", text, registered, m.Score, m.Notes)
				}
				if m := identified(t, c, "person", registered, text); m.Score >= 0.5 {
					t.Errorf("%q is %q: %.3f %q, want a refusal", registered, text, m.Score, m.Notes)
				}
			}
		}
	}
}

func TestIdentityDoesNotDependOnTheOrderOfNames(t *testing.T) {
	c := names.New()
	for _, file := range []string{"identity-cases.csv", "identity-held-out.csv"} {
		for _, row := range pairs(t, "testdata/"+file) {
			if m, back := identified(t, c, row[1], row[2], row[3]), identified(t, c, row[1], row[3], row[2]); m.Score >= 0.5 != (back.Score >= 0.5) || m.Score-back.Score > 1e-6 || back.Score-m.Score > 1e-6 {
				t.Errorf("%q and %q: %.3f, and %.3f in the other order", row[2], row[3], m.Score, back.Score)
			}
		}
	}
}

func TestIdentifyIsTheSameInEitherOrder(t *testing.T) {
	c := names.New()
	for _, tt := range [][2]string{
		{"dAal", "ع\x86\xa8د ا\xd9الرحم\xd9\xd8"},
		{"AG\x03M", "عبد ggggالر\x00\x02من"},
		{"Ivan Petrovich", "Petrovic Ivan Sergeyevich"},
	} {
		a, errA := c.ParseRegistered(names.Person, tt[0])
		b, errB := c.ParseRegistered(names.Person, tt[1])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		ab, ba := c.Identify(a, b), c.Identify(b, a)
		for i, p := range ba.Parts {
			if q := ab.Parts[i]; q.Name != p.Other || q.Other != p.Name {
				t.Errorf("%q: part %d is %+v one way and %+v the other", tt, i, q, p)
			}
		}
		if ab.Score != ba.Score || len(ab.Parts) != len(ba.Parts) {
			t.Errorf("%q: %v one way and %v the other", tt, ab.Score, ba.Score)
		}
	}
}
