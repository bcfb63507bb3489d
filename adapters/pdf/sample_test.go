package pdf_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/pdfcpu/pdfcpu/pkg/api"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// at returns a time of the sample run, with a fraction that is not printed.
func at(second int) time.Time {
	return time.Date(2026, 11, 20, 9, 14, 3, 987654000, time.UTC).Add(time.Duration(second) * time.Second)
}

// sample returns the report of a run of five steps that a reviewer approved.
func sample() report.Print {
	card := func(node, kind, key, label, reason, data string, from, to, dispatches int) rules.Card {
		return rules.Card{
			NodeID: verification.NodeID(node), Type: workflow.NodeType(kind), Key: key, Label: label,
			Status: rules.CardOK, Reason: reason, StartedAt: at(from), CompletedAt: at(to),
			Dispatches: dispatches, Data: verification.Data(data),
		}
	}
	return report.Print{Report: rules.Report{
		Run: rules.ReportRun{
			ID: "0191f3c0-7a11-7c2e-9b52-6f0a4c1d2e3f", ReferenceID: "LOAN-2026-004217",
			Status: rules.StatusCompleted, StartedAt: at(0), CompletedAt: at(412),
		},
		Workflow: rules.ReportWorkflow{
			ID: "0191f3c0-0000-7000-8000-000000000001", Name: "Individual onboarding", Version: 3,
			VersionHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		},
		Summary: rules.ReportSummary{OK: 5},
		Cards: []rules.Card{
			card("consent", "consent", "", "Consent", "", `{"consent_status":"success","text_version":2}`, 1, 44, 0),
			card("details", "customer_input", "", "Your details", "",
				`{"pan":"ABCPE1234F","dob":"1988-04-12","location":{"latitude":19.0760,"longitude":72.8777},"geo_ok":true}`, 44, 130, 0),
			card("pan", "check", "pan_verification", "PAN verification", "",
				`{"source_ok":true,"name":"Ananya Iyer","status":"VALID","last_updated":null}`, 130, 133, 1),
			card("face", "check", "face_match", "Face match",
				"The analysis could not be completed with confidence. A reviewer approved the run.",
				`{"analysis_ok":false,"score":0.71,"frames":[1,4,9],"liveness":{"passed":true,"signals":["blink","turn_left"]}}`, 133, 139, 2),
			card("court", "check", "court_records", "Court records", "",
				`{"hits":[{"court":"City Civil Court, Mumbai","case":"CC/1182/2019"},{"court":"District Court, Pune","closed":true}],"searched":["Ananya Iyer","A. Iyer"]}`, 139, 161, 1),
		},
		Flags:      []rules.Flag{{NodeID: "face", Label: "SECRETFLAG", Reason: "SECRETREASON"}},
		Decision:   rules.DecisionApprove,
		Notes:      "SECRETNOTE",
		ResolvedAt: time.Date(1999, 1, 2, 3, 4, 5, 0, time.UTC),
		Digest:     "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
	}}
}

// with returns the sample with another reason of its third card, and another digest.
func with(text string) report.Print {
	r := sample()
	r.Cards[2].Reason = text
	r.Digest = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return r
}

func printer(t testing.TB, o pdf.Options) pdf.Printer {
	t.Helper()
	p, err := pdf.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

// newPlain makes the printer of plain.
var newPlain = sync.OnceValues(func() (pdf.Printer, error) {
	return pdf.New(pdf.Plain(pdf.Options{CacheBytes: -1}))
})

// plain returns a printer without a cache and without compression, which the tests share:
// loading the fonts takes most of the time of a small report.
func plain(t testing.TB) pdf.Printer {
	t.Helper()
	p, err := newPlain()
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

func render(t testing.TB, p pdf.Printer, r report.Print) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := p.PrintReport(ctx, "tenant", r)
	if err != nil {
		t.Fatalf("PrintReport: %v", err)
	}
	// PDF_SAMPLES names a folder for the documents, for people to look at.
	if dir := os.Getenv("PDF_SAMPLES"); dir != "" {
		name := strings.NewReplacer("/", "-", " ", "_").Replace(t.Name()) + ".pdf"
		if err := os.WriteFile(filepath.Join(dir, name), out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// shown is one string that a document shows: where its baseline starts, in
// points from the lower left corner of page number page.
type shown struct {
	page int
	x, y float64
	text string
}

// read returns the strings that an uncompressed document shows.
func read(t testing.TB, doc []byte) []shown {
	t.Helper()
	texts := codes(t, doc)
	shows := regexp.MustCompile(`(?s)BT (-?[\d.]+) (-?[\d.]+) Td \(((?:[^\\)]|\\.)*)\) Tj ET`)
	var all []shown
	page := 0
	for _, part := range bytes.Split(doc, []byte(">>\nstream\n"))[1:] {
		content, _, _ := bytes.Cut(part, []byte("\nendstream"))
		if !bytes.Contains(content, []byte(" Tf ET")) {
			continue
		}
		page++
		for _, m := range shows.FindAllSubmatch(content, -1) {
			x, _ := strconv.ParseFloat(string(m[1]), 64)
			y, _ := strconv.ParseFloat(string(m[2]), 64)
			text := strings.Map(func(r rune) rune {
				if char, ok := texts[r]; ok {
					return char
				}
				return r
			}, decode(m[3]))
			all = append(all, shown{page, x, y, text})
		}
	}
	if page == 0 {
		t.Fatal("the document shows no text")
	}
	return all
}

// codes returns what the codes of shaped text stand for.
func codes(t testing.TB, doc []byte) map[rune]rune {
	t.Helper()
	texts := map[rune]rune{}
	for _, m := range regexp.MustCompile(`(?m)^<([EF][0-9A-F]{3})> <((?:[0-9A-F]{4})+)>$`).FindAllSubmatch(doc, -1) {
		code, err := strconv.ParseUint(string(m[1]), 16, 16)
		raw, err2 := hex.DecodeString(string(m[2]))
		if err != nil || err2 != nil {
			t.Fatalf("the line %q of a CMap: %v, %v", m[0], err, err2)
		}
		char := []rune(utf16Text(raw))
		if was, twice := texts[rune(code)]; len(char) != 1 || twice && was != char[0] {
			t.Errorf("the code %04X stands for %q, want one character", code, string(char))
		}
		texts[rune(code)] = char[0]
	}
	return texts
}

// utf16Text decodes big-endian UTF-16.
func utf16Text(raw []byte) string {
	units := make([]uint16, 0, len(raw)/2)
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, binary.BigEndian.Uint16(raw))
	}
	return string(utf16.Decode(units))
}

// decode decodes a literal string of UTF-16 codes.
func decode(raw []byte) string {
	var b []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
			if raw[i] == 'r' {
				b = append(b, '\r')
				continue
			}
		}
		b = append(b, raw[i])
	}
	return utf16Text(b)
}

// text returns all that a document shows, one string per line.
func text(t testing.TB, doc []byte) string {
	t.Helper()
	var b strings.Builder
	for _, s := range read(t, doc) {
		fmt.Fprintln(&b, s.text)
	}
	return b.String()
}

// check fails the test unless pdfcpu accepts the document, each page has its number and
// the number of pages, and no text is outside the margins.
func check(t testing.TB, doc []byte) (pages int) {
	t.Helper()
	api.DisableConfigDir()
	if err := api.Validate(bytes.NewReader(doc), nil); err != nil {
		t.Fatalf("the document is not valid: %v", err)
	}
	pages, err := api.PageCount(bytes.NewReader(doc), nil)
	if err != nil {
		t.Fatalf("PageCount: %v", err)
	}
	checkPages(t, doc, pages)
	return pages
}

// checkPages is the part of check that does not need pdfcpu.
func checkPages(t testing.TB, doc []byte, pages int) {
	t.Helper()
	numbers := 0
	for _, s := range read(t, doc) {
		if s.text == fmt.Sprintf("Page %d of %d", s.page, pages) {
			numbers++
		}
		if s.x < 51 || s.x > 545 || s.y < 28 || s.y > 815 {
			t.Errorf("page %d shows %q at %.0f, %.0f: that is outside the margins", s.page, s.text, s.x, s.y)
		}
	}
	if numbers != pages {
		t.Errorf("%d of %d pages have their number", numbers, pages)
	}
}
