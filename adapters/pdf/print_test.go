package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// painted is a picture with a corner in another colour.
func painted(w, h int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{uint8(200 * x / w), 120, uint8(200 * y / h), 255}
			if x < w/4 && y < h/4 {
				c = color.RGBA{255, 255, 255, 255}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func jpegOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, painted(w, h), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, painted(w, h)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func upload(id, label, mediaType string, content []byte) report.Document {
	return report.Document{
		Document: verification.Document{
			ID: id, Field: "field_" + id, MediaType: mediaType, Size: int64(len(content)), CreatedAt: at(90),
			SHA256: strings.Repeat("ab", 32),
		},
		Label: label,
		Open:  func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// kolkata is the zone of the sample's tenant.
func kolkata(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// bank is the sample as a bank prints it: with a letterhead, a subject, consent, sources and
// documents.
func bank(t testing.TB) report.Print {
	t.Helper()
	p := sample()
	p.Zone = kolkata(t)
	p.Letterhead = report.Letterhead{Name: "Meridian Cooperative Bank", Logo: verification.NewLogo("image/png", pngOf(t, 240, 120))}
	p.Subject = rules.Subject{Name: "Ananya Iyer", BirthDate: "1988-04-12", Number: "ABCPE1234F"}
	p.Input = verification.Data(`{"branch":"Fort","product":"savings"}`)
	p.InputSchema = verification.Data(`{"properties":{"branch":{"title":"Branch"},"product":{"title":"Product"}}}`).Map()
	p.Consents = []report.Consent{{
		Node: "consent", Label: "Consent", Agreed: true, Language: "hi", At: at(44), SHA256: strings.Repeat("0c", 32),
		Text: "मैं अपनी पहचान की जाँच के लिए सहमत हूँ।\nI agree that my identity is checked.",
	}}
	p.Sources = map[verification.NodeID]report.Source{
		"pan": {
			Providers: []string{"registry", "registry_backup"}, Asked: verification.Data(`{"name":"Ananya Iyer","pan":"ABCPE1234F","dob":"1988-04-12"}`),
		},
		"court": {Providers: []string{"screening"}, List: "fictional", ListVersion: strings.Repeat("7f", 32), Asked: verification.Data(`{"name":"Ananya Iyer"}`)},
	}
	p.Cards[1].Data = verification.Data(`{"pan":"ABCPE1234F","dob":"1988-04-12","location":{"latitude":19.0760,"longitude":72.8777,"accuracy":12},` +
		`"front":{"document_id":"01f1"},"geo_ok":true,"documents":{"front":{"document_id":"01f1","sha256":"` + strings.Repeat("ab", 32) + `"}}}`)
	p.Cards[1].DataSchema = workflow.MergeSchemas(verification.Data(
		`{"properties":{"pan":{"title":"PAN"},"dob":{"title":"Date of birth"},"front":{"title":"Front of the PAN card"},"location":{"title":"Where you are"}}}`).Map())
	p.Documents = []report.Document{
		upload("01f1", "Front of the PAN card", "image/jpeg", jpegOf(t, 1200, 800)),
		upload("01f2", "Selfie", "image/png", pngOf(t, 600, 900)),
		upload("01f3", "Bank statement", "application/pdf", []byte("%PDF-1.4")),
	}
	return p
}

// forFile is a print with a verdict, which a second person has confirmed.
func forFile(p report.Print, d rules.Decision) report.Print {
	p.ForFile, p.Decision = true, d
	first := rules.Verdict{Node: "review", Decision: d, Notes: "The photo is of the same person.", By: "Asha Rao", Identity: "asha", At: at(300)}
	second := first
	second.Notes, second.By, second.Identity, second.At = "I agree.", "Vikram Singh", "vikram", at(400)
	p.Judgements = []report.Judgement{{Kind: report.JudgementProposal, Verdict: first}, {Kind: report.JudgementVerdict, Verdict: second}}
	return p
}

func TestAReportForTheFileHasTheDataOfTheEnd(t *testing.T) {
	p := forFile(bank(t), rules.DecisionApprove)
	p.Run.Outcome, p.Run.Data = "approved", verification.Data(`{"risk_class":"low","credit_limit":5000,"reasons":["income"]}`)
	doc := render(t, plain(t), p)
	check(t, doc)
	got := text(t, doc)
	for _, want := range []string{"Risk class", "low", "Credit limit", "5000", "Reasons", `["income"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not have %q:\n%s", want, got)
		}
	}
}

func TestTheDataOfTheEndBeyondTheLimitIsCounted(t *testing.T) {
	p, values := forFile(bank(t), rules.DecisionApprove), map[string]any{}
	for i := range 42 {
		values[fmt.Sprintf("value_%02d", i)] = i
	}
	p.Run.Outcome, p.Run.Data = "approved", verification.DataOf(values)
	doc := render(t, plain(t), p)
	check(t, doc)
	got := text(t, doc)
	if !strings.Contains(got, "Value 39") || strings.Contains(got, "Value 40") || !strings.Contains(got, "2 more values, which the report of the API has") {
		t.Errorf("the report does not have 40 of 42 values and the number of the others:\n%s", got)
	}
}

func TestARejectionIsPrintedWithItsReason(t *testing.T) {
	p := forFile(bank(t), rules.DecisionReject)
	p.Judgements[0].ReasonLabel, p.Judgements[0].Notes = "The name does not match the registry", ""
	p.Judgements[1].ReasonLabel = "Another reason"
	doc := render(t, plain(t), p)
	check(t, doc)
	got := text(t, doc)
	for _, want := range []string{"Reason\nThe name does not match the registry\n", "Reason\nAnother reason\n", "I agree."} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "No reason was given") {
		t.Errorf("a rejection with a reason is printed as one without:\n%s", got)
	}
}

func TestNotesArePrintedForTheFileAlone(t *testing.T) {
	p := forFile(bank(t), rules.DecisionApprove)
	p.Remarks = []report.Remark{
		{Notes: "Called the branch.", By: "Asha Rao", At: at(310)},
		{Notes: "Is the stamp genuine?", By: "Ravi Das", At: at(320), EscalatedTo: "Seniors"},
	}
	doc := render(t, plain(t), p)
	check(t, doc)
	got := text(t, doc)
	for _, want := range []string{
		"Note\nBy\nAsha Rao\nOn\n20 Nov 2026, 14:49:13 IST\nCalled the branch.\n",
		"Escalated to Seniors\nBy\nRavi Das\n", "Is the stamp genuine?",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	p.ForFile = false
	if got := text(t, render(t, plain(t), p)); strings.Contains(got, "Called the branch") {
		t.Error("a report that is not for the file shows a note")
	}
}

func TestALetterheadAndASubjectArePrinted(t *testing.T) {
	doc := render(t, plain(t), bank(t))
	check(t, doc)
	got := text(t, doc)
	for _, want := range []string{
		"Meridian Cooperative Bank", "Who was verified\nAnanya Iyer\n", "Date of birth\n12 Apr 1988\n", "Number\nABCPE1234F\n",
		"Reference\nLOAN-2026-004217\n", "What the run was started with\n", "Branch\nFort\n",
		"20 Nov 2026, 14:44:03 IST", "All times are in the time zone Asia/Kolkata.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
}

func TestAConsentIsPrintedWithItsText(t *testing.T) {
	p := bank(t)
	p.Consents = append(p.Consents, report.Consent{Node: "consent", Text: "First line\nSecond line", At: at(50), SHA256: "5e"})
	got := text(t, render(t, plain(t), p))
	for _, want := range []string{
		"Answer\nAgreed\nTime\n20 Nov 2026, 14:44:47 IST\n", "I agree that my identity is checked.\n", "Language\nHindi\n",
		"SHA-256 of the text\n0c0c", "Answer\nDeclined\n", "First line\nSecond line\n", "The text in the default language",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "consent_status") || strings.Contains(got, "Text version") {
		t.Error("the data of the consent is printed beside it")
	}
	p.Consents[0].Text = strings.Repeat("word ", 4000)
	if got := text(t, render(t, plain(t), p)); strings.Contains(got, "characters)") {
		t.Error("the longest text of a consent is cut")
	}
}

func TestSourcesAndRequestsArePrinted(t *testing.T) {
	got := text(t, render(t, plain(t), bank(t)))
	for _, want := range []string{
		"Source\nregistry, then registry_backup\n", "Asked\nName\nAnanya Iyer\nPAN\nABCPE1234F\nDate of birth\n12 Apr 1988\nAnswer\n",
		"List\nfictional\n", "Version of the list fictional\n7f7f",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
}

func TestDocumentsArePrintedWithTheirPictures(t *testing.T) {
	p := bank(t)
	doc := render(t, plain(t), p)
	check(t, doc)
	if n := bytes.Count(doc, []byte("/Subtype /Image")); n != 3 {
		t.Errorf("the document has %d pictures, want the logo and two documents", n)
	}
	got := text(t, doc)
	for _, want := range []string{
		"Front of the PAN card\nDocument 1: JPEG,", "Where you are\n19.0760, 72.8777, within 12 m\n", "In the allowed area\nYes\n",
		"Document 1: Front of the PAN card\n", "Document 3: Bank statement\n", "SHA-256\nabab",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	if pages := strings.Count(got, "Continued on the next page"); pages != strings.Count(got, "(continued)") {
		t.Errorf("%d cards continue on another page, and not as many begin there:\n%s", pages, got)
	}
	if strings.Contains(got, "document_id") || strings.Contains(got, "Sha256") {
		t.Error("the document shows the recorded form of an upload")
	}
}

func TestAPictureThatCannotBePrintedIsNamed(t *testing.T) {
	for name, open := range map[string]func(context.Context) (io.ReadCloser, error){
		"none":     nil,
		"gone":     func(context.Context) (io.ReadCloser, error) { return nil, errors.New("gone") },
		"no image": func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("no image")), nil },
	} {
		p := sample()
		p.Documents = []report.Document{upload("01f1", "Selfie", "image/jpeg", nil)}
		p.Documents[0].Open = open
		if got := text(t, render(t, plain(t), p)); !strings.Contains(got, "Picture\nIt is not printed") {
			t.Errorf("%s: the document does not say so:\n%s", name, got)
		}
	}
}

func TestTooManyPicturesAreLeftOut(t *testing.T) {
	p := sample()
	for i := range 30 {
		p.Documents = append(p.Documents, upload(fmt.Sprintf("01f%d", i), "Selfie", "image/jpeg", jpegOf(t, 60, 40)))
	}
	doc := render(t, plain(t), p)
	check(t, doc)
	if n, noted := bytes.Count(doc, []byte("/Subtype /Image")), strings.Count(text(t, doc), "It is not printed"); n != 24 || noted != 6 {
		t.Errorf("%d pictures are printed and %d are named, want 24 and 6", n, noted)
	}
}

func TestPicturesHaveTheSameBytes(t *testing.T) {
	p := bank(t)
	want := render(t, plain(t), p)
	for range 8 {
		if got := render(t, plain(t), p); !bytes.Equal(got, want) {
			t.Fatal("the same print has other bytes")
		}
	}
}

func TestAReportForTheFileHasTheDecision(t *testing.T) {
	doc := render(t, plain(t), forFile(bank(t), rules.DecisionReject))
	check(t, doc)
	got := text(t, doc)
	for _, want := range []string{
		"REJECTED\n", "Rejected, confirmed by a second person\nBy\nVikram Singh\nOn\n20 Nov 2026, 14:50:43 IST\nI agree.\n",
		"Proposed: rejected\nBy\nAsha Rao\n", "The photo is of the same person.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	p := bank(t)
	p.ForFile, p.Decision = true, rules.DecisionReview
	if got := text(t, render(t, plain(t), p)); !strings.Contains(got, "REVIEW OWED\n") {
		t.Errorf("a report without a verdict shows\n%s", got)
	}
}

func TestTheCacheKeepsBothKindsOfReport(t *testing.T) {
	p := printer(t, pdf.Plain(pdf.Options{}))
	r := sample()
	render(t, p, r)
	if got := text(t, render(t, p, forFile(r, rules.DecisionApprove))); !strings.Contains(got, "APPROVED\n") {
		t.Error("a report for the file is the cached one of the other kind")
	}
	if got := text(t, render(t, p, r)); strings.Contains(got, "APPROVED\n") {
		t.Error("a report is the cached one for the file")
	}
	r.Letterhead.Name = "Another name"
	if got := text(t, render(t, p, r)); !strings.Contains(got, "Another name\n") {
		t.Error("a report is the cached one with another letterhead")
	}
}

func TestAListOfObjectsIsATable(t *testing.T) {
	var rows []string
	for i := range 180 {
		rows = append(rows, fmt.Sprintf(`{"date":"2026-10-%02d","amount":%d.50,"currency":"INR","purpose":"UPI transfer to a shop, number %d"}`, i%28+1, 90+i, i))
	}
	p := sample()
	p.Cards[2].Data = verification.Data(`{"transactions":[` + strings.Join(rows, ",") + `],"complete":true}`)
	doc := render(t, plain(t), p)
	pages := check(t, doc)
	got := text(t, doc)
	if pages > 9 || !strings.Contains(got, "Transactions\nDate\nAmount\nCurrency\nPurpose\n1 Oct 2026\n90.50\nINR\n") {
		t.Errorf("the table of 180 rows takes %d pages:\n%.2000s", pages, got)
	}
	if heads := strings.Count(got, "Date\nAmount\nCurrency\nPurpose\n"); heads < 4 {
		t.Errorf("the head of the table is shown %d times, want it on each page", heads)
	}
	left := map[string]float64{}
	for _, s := range read(t, doc) {
		left[s.text] = s.x
	}
	if left["90.50"] <= left["269.50"] || left["INR"] <= left["90.50"] {
		t.Errorf("90.50 begins at %v and 269.50 at %v, want the digits of a column below each other", left["90.50"], left["269.50"])
	}
	for i := range 180 {
		if !strings.Contains(strings.ReplaceAll(got, "\n", " "), fmt.Sprintf("number %d ", i)) {
			t.Errorf("row %d is missing", i)
		}
	}
}

func TestMissingCharactersAreNamed(t *testing.T) {
	var first strings.Builder // page
	for _, s := range read(t, render(t, plain(t), with("漢字 and 😀"))) {
		if s.page == 1 {
			first.WriteString(s.text + " ")
		}
	}
	for _, want := range []string{"Some text of this report is missing No font of this service has these characters: U+5B57, U+6F22, U+1F600 (Common, Han).", "--font-dir"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the first page does not show %q:\n%s", want, first.String())
		}
	}
	if got := text(t, render(t, plain(t), with("Ananya"))); strings.Contains(got, "No font of this service") {
		t.Error("a document without missing characters names some")
	}
}

func TestAReportForTheFileLacksNothingUnasked(t *testing.T) {
	p := printer(t, pdf.Plain(pdf.Options{}))
	r := forFile(with("漢字"), rules.DecisionApprove)
	for range 2 {
		_, err := p.PrintReport(t.Context(), "tenant", r)
		if !errors.Is(err, verification.ErrConflict) || !strings.Contains(err.Error(), "U+5B57, U+6F22 (Han)") {
			t.Errorf("the report for the file = %v, want a conflict that names the characters", err)
		}
	}
	r.AllowMissing = true
	if got := text(t, render(t, p, r)); !strings.Contains(got, "Some text of this report is missing") {
		t.Errorf("the report for the file does not say what it lacks:\n%s", got)
	}
	r.AllowMissing = false
	if _, err := p.PrintReport(t.Context(), "tenant", r); !errors.Is(err, verification.ErrConflict) {
		t.Errorf("the report for the file after the other one = %v, want a conflict", err)
	}
}

func TestADocumentHasATitleAndALanguage(t *testing.T) {
	p := bank(t)
	p.Run.ReferenceID = "LOAN <7> & (8)"
	doc := render(t, plain(t), p)
	check(t, doc)
	for _, want := range []string{
		"/Lang (en)", "/DisplayDocTitle true", `<rdf:li xml:lang="x-default">Verification report LOAN &lt;7&gt; &amp; (8)</rdf:li>`,
		"<rdf:li>Meridian Cooperative Bank</rdf:li>", "<xmp:CreateDate>2026-11-20T09:20:55Z</xmp:CreateDate>",
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("the document does not have %q", want)
		}
	}
	if bytes.Contains(doc, []byte("<rdf:li>Ananya")) {
		t.Error("the metadata names the person")
	}
}

// TestSamplesForPeople prints documents to look at, see render, with the fonts of the host.
func TestSamplesForPeople(t *testing.T) {
	p := printer(t, pdf.Plain(pdf.Options{InstalledFonts: true, CacheBytes: -1}))
	for name, subject := range map[string]rules.Subject{
		"hindi":  {Name: "अनन्या कृष्णमूर्ति", BirthDate: "1988-04-12", Number: "ABCPE1234F"},
		"arabic": {Name: "محمد عبد الله الهاشمي", BirthDate: "1988-04-12", Number: "ABCPE1234F"},
		"han":    {Name: "欧阳娜娜 (오양나나)", BirthDate: "1988-04-12", Number: "ABCPE1234F"},
		"long":   {Name: strings.Repeat("Venkatanarasimharajuvaripeta ", 9), Number: strings.Repeat("9", 90)},
	} {
		t.Run(name, func(t *testing.T) {
			r := bank(t)
			r.Run.ReferenceID, r.Subject = name, subject
			r.Cards[2].Data = verification.DataOf(map[string]any{"name": subject.Name, "also_known_as": []any{subject.Name, subject.Name}})
			check(t, render(t, p, r))
		})
	}
	t.Run("declined", func(t *testing.T) {
		r := forFile(bank(t), rules.DecisionReject)
		r.Consents[0].Agreed, r.Cards = false, r.Cards[:1]
		r.Cards[0].Status, r.Cards[0].Reason = rules.CardFailed, "The customer did not give consent. A reviewer rejected the run."
		r.Documents, r.Sources, r.Run.Outcome = nil, nil, "declined"
		check(t, render(t, p, r))
	})
	t.Run("approved", func(t *testing.T) { check(t, render(t, p, forFile(bank(t), rules.DecisionApprove))) })
}

func TestAConsentReadsAsOnThePage(t *testing.T) {
	p := bank(t)
	p.Consents[0].Text = "We ask the [registry](https://registry.example/terms) about you:\n\n- your **PAN**\n- your name\n\nWe keep it **eight years**.\nYou may [write](mailto:help@bank.example)."
	got := text(t, render(t, plain(t), p))
	want := "We ask the registry (https://registry.example/terms) about you:\n•\nyour \nPAN\n•\nyour name\nWe keep it \neight years\n.\nYou may write (help@bank.example).\n"
	if !strings.Contains(got, want) {
		t.Errorf("the document does not show\n%s:\n%s", want, got)
	}
	p.Consents[0].Text = "- أوافق على **التحقق**\n- نعم"
	if got := text(t, render(t, plain(t), p)); strings.Contains(got, "**") {
		t.Errorf("a consent from right to left is printed as it was written:\n%s", got)
	}
}
