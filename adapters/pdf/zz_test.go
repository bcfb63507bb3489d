package pdf_test

import (
	"math/rand"
	"os"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
)

func TestZZCJK(t *testing.T) {
	start := time.Now()
	for _, dir := range []string{"/usr/share/fonts/truetype/droid", "/tmp/pdfwork/cjk"} {
		p := printer(t, pdf.Options{FontDir: dir, CacheBytes: -1})
		t.Log(dir, time.Since(start))
		r := with("統一碼 漢字かな交じり文、テスト。한국어 확인 𠀀𠮷 (mixed) 查询结果：通过 " + "很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。很长的文本没有空格。")
		r.Cards[2].Label = "身份验证 漢字"
		r.Cards[2].Data = verification.Data(`{"姓名":"王小明","住所":"東京都千代田区丸の内一丁目9番1号","이름":"홍길동"}`)
		start = time.Now()
		out := render(t, p, r)
		t.Log(len(out), time.Since(start))
		os.WriteFile("/tmp/pdfwork/out/cjk"+map[bool]string{true: "d", false: "n"}[dir[1] == 'u']+".pdf", out, 0o600)
	}
}

func TestZZRandom(t *testing.T) {
	p := plain(t)
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	var tabs []*unicode.RangeTable
	for _, k := range unicode.Scripts { tabs = append(tabs, k) }
	pick := func() rune {
		tb := tabs[rng.Intn(len(tabs))]
		if rng.Intn(3) == 0 { return rune(rng.Intn(utf8.MaxRune)) }
		if rng.Intn(3) == 0 { return []rune("abc 123,.-/()[]אבגعربي\u200d\u200c\u0301\u093f\u094d")[rng.Intn(28)] }
		if len(tb.R16) > 0 { x := tb.R16[rng.Intn(len(tb.R16))]; return rune(x.Lo) + rune(rng.Intn(int(x.Hi-x.Lo)+1)) }
		x := tb.R32[rng.Intn(len(tb.R32))]
		return rune(x.Lo) + rune(rng.Intn(int(x.Hi-x.Lo)+1))
	}
	str := func(n int) string { var b []rune; for range rng.Intn(n) { b = append(b, pick()) }; return string(b) }
	for end := time.Now().Add(60*time.Second); time.Now().Before(end); {
		r := sample()
		r.Run.ReferenceID, r.Workflow.Name = str(300), str(60)
		for i := range r.Cards {
			r.Cards[i].Label, r.Cards[i].Reason, r.Cards[i].Key = str(400), str(2500), str(100)
			d, err := verification.NewData(map[string]any{str(30): str(2000), "b" + str(60): str(50)})
			if err == nil { r.Cards[i].Data = d }
		}
		doc := render(t, p, r)
		check(t, doc)
		if t.Failed() { t.FailNow() }
	}
}
