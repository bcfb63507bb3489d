// Tests of texts that a spreadsheet must not run, and of units.

package numbers

import (
	"os"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
)

func TestNoCellOfATableIsAFormula(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "12": "12", "PAN": "PAN", "a=b": "a=b", "नाम": "नाम",
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x",
	} {
		if got := inert(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestDurationsAreAsPeopleWriteThem(t *testing.T) {
	all, err := web.ReadCatalogs(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	s := shell.Session{Catalog: all.Choose("en", nil)}
	for d, want := range map[time.Duration]string{
		0: "0", 500 * time.Microsecond: "0.5 ms", 42 * time.Millisecond: "42 ms", 1234 * time.Millisecond: "1.23 s",
		12345 * time.Millisecond: "12.3 s", 90 * time.Second: "1.5 min", 75 * time.Minute: "1.25 h", 23*time.Hour + 59*time.Minute: "24 h",
		24 * time.Hour: "1 day", 31*time.Hour + 26*time.Minute: "31 h", 48*time.Hour + time.Minute: "2 days", 71 * time.Hour: "71 h",
		79 * time.Hour: "3 days 7 h", 119*time.Hour + 40*time.Minute: "5 days", 251 * time.Hour: "10 days", 253 * time.Hour: "11 days",
		1000 * 24 * time.Hour: "1,000 days",
	} {
		if got, err := duration(s, d); got != want || err != nil {
			t.Errorf("%v is %q, %v; want %q", d, got, err, want)
		}
	}
	for part, want := range map[int]string{0: "0%", 1: "0.07%", 500: "33.3%", 1500: "100%"} {
		if got, err := share(s, part, 1500); got != want || err != nil {
			t.Errorf("%d of 1500 is %q, %v; want %q", part, got, err, want)
		}
	}
	if got, err := share(s, 0, 0); got != "0%" || err != nil {
		t.Errorf("0 of 0 is %q, %v", got, err)
	}
}
