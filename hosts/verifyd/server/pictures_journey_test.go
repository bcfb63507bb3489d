// The pictures of the customer's pages and of the printed report in the documentation. The
// command of TestPicturesOfTheDocs takes them, too.

package server_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

// bankWorkflow is what the customer of the pictures goes through.
const bankWorkflow = `
workflow: savings
id: 0191f3c0-0000-7000-8000-0000000000b1
name: Savings account
subject: {name: steps.details.data.name, birth_date: steps.details.data.dob, number: steps.details.data.pan, portrait: steps.photos.data.selfie}
intro:
  minutes: 3
  text: {en: "Thank you for choosing **Meridian Bank**. We need to know who you are before we open your account.", hi: "**मेरिडियन बैंक** चुनने के लिए धन्यवाद। खाता खोलने से पहले हमें जानना होगा कि आप कौन हैं।"}
reject_reasons: [{code: listed, label: Is the person on the list}, {code: other, label: Another reason}]
start: consent
nodes:
  consent:
    type: consent
    label: {en: Your consent, hi: आपकी सहमति}
    text:
      en: |
        With your permission, we

        - check your PAN and your date of birth,
        - search the lists of sanctioned people,
        - keep the result for five years, as [our policy](https://meridian.example/privacy) says.
      hi: |
        आपकी अनुमति से हम

        - आपका पैन और आपकी जन्म तिथि जाँचते हैं,
        - प्रतिबंधित व्यक्तियों की सूचियों में खोजते हैं,
        - परिणाम को [हमारी नीति](https://meridian.example/privacy) के अनुसार पाँच वर्ष तक रखते हैं।
    on_declined: declined
    next: details
  details:
    type: customer_input
    label: {en: Your details, hi: आपका विवरण}
    next: photos
    fields:
      name: {type: text, label: {en: Full name, hi: पूरा नाम}, help: {en: As on your PAN card., hi: जैसा आपके पैन कार्ड पर है।}, required: true}
      dob: {type: date, label: {en: Date of birth, hi: जन्म तिथि}, required: true, max: today, required_message: {en: "Enter your date of birth, as on your PAN card.", hi: "अपनी जन्म तिथि लिखें, जैसी पैन कार्ड पर है।"}}
      pan: {type: text, label: {en: PAN, hi: पैन}, required: true, uppercase: true, pattern: "^[A-Z]{5}[0-9]{4}[A-Z]$", pattern_message: {en: "A PAN has five letters, four digits and a letter.", hi: "पैन में पाँच अक्षर, चार अंक और एक अक्षर होते हैं।"}}
      email: {type: email, label: {en: Email, hi: ईमेल}}
      work: {type: select, label: {en: What you do, hi: आप क्या करते हैं}, options: [{value: employed, label: {en: I am employed, hi: मैं नौकरी करता/करती हूँ}}, {value: own, label: {en: I have my own business, hi: मेरा अपना व्यवसाय है}}]}
  photos:
    type: customer_input
    label: {en: Your photos, hi: आपकी तस्वीरें}
    optional: true
    next: pan
    fields:
      card: {type: file, label: {en: PAN card, hi: पैन कार्ड}, required: true, accept: [image/jpeg, application/pdf]}
      selfie: {type: image, label: {en: A photo of you, hi: आपकी फ़ोटो}, camera: front, accept: [image/jpeg]}
      where: {type: location, label: {en: Where you are, hi: आप कहाँ हैं}}
  pan: {type: check, label: Structure of the PAN, provider: offline.pan, with: {number: "${steps.details.data.pan}"}, on_failed: next, next: age}
  age: {type: check, label: At least 18 years old, provider: offline.age, with: {birth_date: "${steps.details.data.dob}", min_years: 18}, on_failed: next, next: screening}
  screening: {type: check, label: Sanctions screening, provider: offline.screening, with: {list: fictional, kind: person, name: "${steps.details.data.name}", birth_date: "${steps.details.data.dob}"}, next: decide}
  decide: {type: branch, rules: [{when: "!steps.screening.data.analysis_ok", next: review}], else: done}
  review: {type: review, label: Compliance, reason: The person may be on a list., next: done, on_reject: refused}
  done: {type: end, outcome: accepted}
  refused: {type: end, outcome: refused}
  declined: {type: end, outcome: declined}
`

// painting is a picture of ovals: a colour for each one that a point is in, the last one wins.
type painting struct {
	width, height int
	ground        color.NRGBA
	ovals         []oval
}

// oval is an oval, or with square a rectangle: its centre, and half of its width and height, in
// parts of the picture.
type oval struct {
	x, y, width, height float64
	square              bool
	colour              color.NRGBA
}

func (p painting) paint() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, p.width, p.height))
	for i := range p.width * p.height {
		x, y := i%p.width, i/p.width
		c := p.ground
		for _, o := range p.ovals {
			dx, dy := math.Abs(float64(x)/float64(p.width)-o.x)/o.width, math.Abs(float64(y)/float64(p.height)-o.y)/o.height
			if o.square && max(dx, dy) <= 1 || dx*dx+dy*dy <= 1 {
				c = o.colour
			}
		}
		m.SetNRGBA(x, y, c)
	}
	return m
}

func rgb(r, g, b uint8) color.NRGBA { return color.NRGBA{r, g, b, 255} }

// portrait is the drawing of a person.
func portrait(width, height int) painting {
	skin, hair := rgb(196, 142, 104), rgb(43, 33, 30)
	return painting{width, height, rgb(203, 216, 224), []oval{
		{0.5, 0.43, 0.27, 0.31, false, hair},
		{0.5, 1.02, 0.45, 0.28, false, rgb(52, 84, 128)},
		{0.5, 0.72, 0.1, 0.14, false, skin},
		{0.5, 0.48, 0.2, 0.24, false, skin},
		{0.5, 0.26, 0.2, 0.09, false, hair},
		{0.42, 0.46, 0.026, 0.014, false, hair},
		{0.58, 0.46, 0.026, 0.014, false, hair},
		{0.5, 0.6, 0.07, 0.014, false, rgb(150, 78, 70)},
	}}
}

// card is the drawing of an identity card.
func card(width, height int) painting {
	ink := rgb(82, 98, 122)
	p := painting{width, height, rgb(222, 232, 240), []oval{{0.5, 0.1, 0.5, 0.1, true, rgb(31, 78, 121)}}}
	for _, o := range portrait(1, 1).ovals { // small, on the left
		p.ovals = append(p.ovals, oval{0.06 + o.x*0.26, 0.3 + o.y*0.5, o.width * 0.26, o.height * 0.5, o.square, o.colour})
	}
	for i, long := range []float64{0.2, 0.24, 0.13, 0.18} {
		p.ovals = append(p.ovals, oval{0.42 + long, 0.36 + float64(i)*0.13, long, 0.022, true, ink})
	}
	p.ovals = append(p.ovals, oval{0.5, 0.96, 0.5, 0.1, true, p.ground}) // the card ends below the shoulders
	return p
}

// file writes a picture as JPEG, or as PNG if its name says so.
func (p painting) file(t *testing.T, path string) string {
	t.Helper()
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(path, ".png") {
		err = png.Encode(&b, p.paint())
	} else {
		err = jpeg.Encode(&b, p.paint(), &jpeg.Options{Quality: 92})
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serveBank starts the host of a bank with bankWorkflow.
func serveBank(t *testing.T, keys string) *served {
	t.Helper()
	vars := demoFile(t, "name: Acme Demo", "name: Meridian Bank\n    colour: \"#14594a\"\n    logo: logo.png\n    time_zone: Asia/Kolkata\n"+
		"    links: {privacy: \"https://meridian.example/privacy\", help: \"https://meridian.example/help\", phone: \"+91 22 9876 5432\"}")
	vars["VERIFYD_SIGNING_KEY_FILE"] = keys
	bootstrap := vars["VERIFYD_BOOTSTRAP"]
	raw, err := os.ReadFile(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte("- individual-onboarding.yaml"), []byte("- individual-onboarding.yaml\n      - savings.yaml"), 1)
	raw = bytes.Replace(raw, []byte("    accounts:\n"), []byte("    accounts:\n      - {client_id: bank-files, api_key: a-key-for-the-files-alone, surfaces: [files]}\n"), 1)
	dir := filepath.Dir(bootstrap)
	for name, content := range map[string][]byte{bootstrap: raw, filepath.Join(dir, "savings.yaml"): []byte(bankWorkflow)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	green, gold := rgb(20, 89, 74), rgb(201, 162, 74)
	painting{288, 96, color.NRGBA{}, []oval{
		{0.17, 0.5, 0.16, 0.48, false, green},
		{0.17, 0.5, 0.1, 0.3, false, gold},
		{0.17, 0.5, 0.05, 0.3, false, green},
		{0.66, 0.36, 0.3, 0.11, true, green},
		{0.6, 0.68, 0.24, 0.07, true, gold},
	}}.file(t, filepath.Join(dir, "logo.png"))
	return serveHost(t, vars)
}

// phone is the one of the pictures.
func phone() browser.Options {
	return browser.Options{Height: 880, Location: &browser.Location{Latitude: 19.07, Longitude: 72.87, Accuracy: 12}}
}

func TestPicturesOfTheDocsJourney(t *testing.T) {
	wantPictures(t)
	folder := filepath.Join("..", "..", "..", "docs", "journey")
	keys, _ := keyFile(t)
	s, dir := serveBank(t, keys), t.TempDir()
	begin := func(reference string) string {
		return s.run("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-0000000000b1/runs", `{"reference_id":"`+reference+`"}`).Action.URL
	}
	shoot := func(tab *browser.Tab, name string) { tab.ShootWindow(filepath.Join(folder, name)) }
	dark, hindi := phone(), phone()
	dark.Dark, hindi.Language = true, "hi-IN"

	tab := browser.Start(t).Open(t, phone())
	tab.Go(begin("SAV-2026-1041"))
	shoot(tab, "consent.png")
	tab.Press("button[value=success]")
	tab.See("#f-name")
	tab.Emulate(dark)
	tab.Fill("#f-name", "मीरा नायर")
	tab.Fill("#f-pan", "ABCPN41")
	tab.Press(onto)
	tab.See(".problems")
	shoot(tab, "problems.png")
	tab.Emulate(phone())
	tab.Fill("#f-pan", "25F")
	for part, value := range map[string]string{"day": "1", "month": "2", "year": "1990"} {
		tab.Fill("#f-dob-"+part, value)
	}
	browser.Eval[bool](tab, `document.querySelector("#f-pan").value = "ABCPN4125F", true`)
	tab.Press(onto)
	tab.See("#f-where")
	tab.Choose("#f-card", card(1000, 630).file(t, filepath.Join(dir, "pan-card.jpg")))
	tab.Choose("#f-selfie", portrait(900, 1200).file(t, filepath.Join(dir, "me.jpg")))
	browser.Eval[bool](tab, `document.querySelector("#f-selfie").closest(".field").scrollIntoView(), document.activeElement.blur(), true`)
	shoot(tab, "photo.png")

	tab.Emulate(hindi)
	tab.Go(begin("SAV-2026-1042"))
	tab.Press("button[value=success]")
	tab.See("#f-name")
	shoot(tab, "hindi.png")

	// The demo, for the quickstart.
	demo := serveHost(t, demoFile(t, "Acme Demo", "Acme Demo"))
	r := demo.run("POST", demo.api+onboarding, `{"reference_id":"person-1"}`)
	tab.Emulate(phone())
	tab.Go(r.Action.URL)
	shoot(tab, "demo-consent.png")
	tab.Press("button[value=success]")
	tab.See("#f-name")
	shoot(tab, "demo-details.png")
}

// TestPicturesOfTheDocsReports prints reports, and takes pictures of their pages with
// pdftoppm of poppler-utils.
func TestPicturesOfTheDocsReports(t *testing.T) {
	wantPictures(t)
	program, err := exec.LookPath("pdftoppm")
	if err != nil {
		t.Skip("there is no pdftoppm; install poppler-utils")
	}
	folder := filepath.Join("..", "..", "..", "docs", "reports")
	keys, issuer := keyFile(t)
	s, dir := serveBank(t, keys), t.TempDir()
	shoot := func(query, run, page, name string) {
		t.Helper()
		headers := []string{"client-id", "bank-files", "x-api-key", "a-key-for-the-files-alone"}
		if query == "" {
			headers = nil
		}
		status, raw, _ := s.call("GET", s.api+"/v1/runs/"+run+"/report.pdf"+query, "", headers...)
		file := filepath.Join(dir, "report.pdf")
		if err := os.WriteFile(file, raw, 0o600); err != nil || status != 200 {
			t.Fatalf("report.pdf = %d %.200s, %v", status, raw, err)
		}
		picture := filepath.Join(folder, strings.TrimSuffix(name, ".png"))
		if out, err := exec.CommandContext(t.Context(), program, "-png", "-singlefile", "-scale-to-x", "840", "-scale-to-y", "-1", "-f", page, "-l", page, file, picture).CombinedOutput(); err != nil {
			t.Fatalf("pdftoppm: %v %s", err, out)
		}
	}
	r := s.run("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-0000000000b1/runs", `{"reference_id":"SAV-2026-1043"}`)
	tab := browser.Start(t).Open(t, phone())
	tab.Go(r.Action.URL)
	tab.Press("button[value=success]")
	tab.See("#f-name")
	for field, value := range map[string]string{"name": "Victor Zamoyskov", "dob-day": "14", "dob-month": "3", "dob-year": "1961", "pan": "ABCPZ4321Z", "email": "victor.z@example.com"} {
		tab.Fill("#f-"+field, value)
	}
	tab.Press(onto)
	tab.See("#f-where")
	tab.Choose("#f-card", card(1000, 630).file(t, filepath.Join(dir, "pan-card.jpg")))
	tab.Choose("#f-selfie", portrait(900, 1200).file(t, filepath.Join(dir, "me.jpg")))
	tab.Press(onto)
	s.await(r.ID, func(r runJSON) bool { return r.Decision != nil && *r.Decision == "review" })
	reviewer := s.reviewerTab(issuer, browser.Options{Wide: true, NoScript: true}) // the page stays as it is, and nothing is held
	reviewer.Go(s.api + "/console/runs/" + r.ID)
	reviewer.Press("[data-facts] > summary")
	reviewer.Set(".judge input[name=reason]", "Same birth date, and the spelling is an alias.")
	reviewer.Press(".judge button[value=same]")
	reviewer.Wait(`location.hash.startsWith("#hit") && document.readyState === "complete"`)
	reviewer.Set("#reason", "listed")
	reviewer.Set("#notes", "The name and the date of birth are those of the entry, and the customer did not answer our call.")
	reviewer.Press("[data-command][value=reject]")
	completed := func(r runJSON) bool { return r.Status == "completed" }
	s.await(r.ID, completed)
	shoot("?for=file", r.ID, "1", "report.png")
	shoot("?for=file", r.ID, "4", "hits.png")
	shoot("?for=file", r.ID, "5", "documents.png")

	passed := s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
	s.call("POST", s.api+"/v1/signals/"+passed.ID+"/consent_submitted", `{"payload":{"consent_status":"success"}}`)
	s.call("POST", s.api+"/v1/signals/"+passed.ID+"/details_submitted", `{"payload":{"name":"Asha Rao","dob":"1990-02-01","pan":"ABCPR1234F"}}`)
	s.await(passed.ID, completed)
	shoot("", passed.ID, "2", "checks.png")
}

func wantPictures(t *testing.T) {
	t.Helper()
	if os.Getenv(browser.EnvPictures) == "" {
		t.Skip("set " + browser.EnvPictures + " to take the pictures of the docs")
	}
}
