// Tests of texts that have several names.

package names_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
)

// split returns the parts of a text, with ~ before those that are only looked up.
func split(c *names.Comparer, text string) (out []string) {
	parts, _ := c.Split(text)
	for _, p := range parts {
		if p.Exact {
			p.Text = "~" + p.Text
		}
		out = append(out, p.Text)
	}
	return out
}

// A list that writes a former or another name behind the name is found by it, in each language of joins.txt.
func TestAFormerNameIsFoundInEachLanguage(t *testing.T) {
	c := names.New()
	for language, tc := range map[string]struct{ text, former string }{
		"English":              {"Brenovar Works previously called Zelmarind Plant", "Zelmarind Plant"},
		"English, abbreviated": {"Brenovar Works Inc o/a Zelmarind Plant", "Zelmarind Plant"},
		"English, renamed":     {"Brenovar Works, renamed from: Zelmarind Plant", "Zelmarind Plant"},
		"Russian":              {"ООО «Бреновар» (ранее ООО «Зелмаринд»)", "Zelmarind OOO"},
		"Russian, no brackets": {"АО Бреновар, ранее именовавшееся АО Зелмаринд", "Zelmarind"},
		"Ukrainian":            {"ТОВ Бреновар, колишня назва ТОВ Зелмарінд", "Zelmarind"},
		"Bulgarian":            {"Бреновар ООД, преди известно като Зелмаринд ООД", "Zelmarind"},
		"Croatian":             {"Brenovar d.o.o., ranije Zelmarind d.o.o.", "Zelmarind"},
		"Dutch":                {"Brenovar B.V., voorheen Zelmarind B.V.", "Zelmarind BV"},
		"German":               {"Brenovar GmbH, früher bekannt als Zelmarind GmbH", "Zelmarind GmbH"},
		"Swedish":              {"Brenovar AB, tidigare Zelmarind AB", "Zelmarind AB"},
		"Norwegian":            {"Brenovar AS, tidligere Zelmarind AS", "Zelmarind AS"},
		"Danish":               {"Brenovar A/S også kendt som Zelmarind A/S", "Zelmarind AS"},
		"Finnish":              {"Brenovar Oy, entinen Zelmarind Oy", "Zelmarind Oy"},
		"Czech":                {"Brenovar s.r.o., dříve Zelmarind s.r.o.", "Zelmarind sro"},
		"Slovak":               {"Brenovar a.s., predtým Zelmarind a.s.", "Zelmarind as"},
		"Hungarian":            {"Brenovar Kft., korábban Zelmarind Kft.", "Zelmarind Kft"},
		"Polish":               {"Brenovar S.A., dawniej Zelmarind S.A.", "Zelmarind SA"},
		"Romanian":             {"Brenovar SRL, fostă Zelmarind SRL", "Zelmarind SRL"},
		"Greek":                {"Μπρενοβάρ ΑΕ, πρώην Ζελμαρίντ ΑΕ", "Zelmarint AE"},
		"Turkish":              {"Brenovar A.Ş., eski adıyla Zelmarind A.Ş.", "Zelmarind AS"},
		"Indonesian":           {"PT Brenovar d/h PT Zelmarind", "PT Zelmarind"},
		"Spanish":              {"Brenovar S.A., antes denominada Zelmarind S.A.", "Zelmarind SA"},
		"Portuguese":           {"Brenovar Lda, anteriormente conhecida como Zelmarind Lda", "Zelmarind Lda"},
		"Italian":              {"Brenovar S.r.l., in precedenza Zelmarind S.r.l.", "Zelmarind Srl"},
		"French":               {"Brenovar SARL, autrefois Zelmarind SARL", "Zelmarind SARL"},
		"Arabic":               {"شركة برينوفار المعروفة سابقا باسم شركة زلماريند", "Zelmarind Company"},
		"Persian":              {"شرکت برنووار با نام قبلی شرکت زلماریند", "Zelmarind"},
		"Chinese":              {"布雷诺瓦贸易有限公司原名泽尔马林实业有限公司", "泽尔马林实业有限公司"},
		"Chinese, traditional": {"布雷諾瓦貿易有限公司（原名：澤爾馬林實業有限公司）", "泽尔马林实业有限公司"},
		"Japanese":             {"ブレノバ商事株式会社 旧社名 ゼルマリンド株式会社", "ゼルマリンド"},
		"Japanese, kana":       {"ブレノバ商事株式会社 またの名 ゼルマリンド株式会社", "ゼルマリンド"},
		"Korean":               {"브레노바산업 주식회사, 일명 젤마린드상사", "젤마린드상사"},
		"Korean, brackets":     {"브레노바산업 주식회사 (구명칭: 젤마린드상사)", "젤마린드상사"},
	} {
		parts, _ := c.Split(tc.text)
		found := slices.ContainsFunc(parts, func(p names.PartName) bool {
			return !p.Exact && score(t, c, "company", p.Text, tc.former).Score >= threshold
		})
		if !found {
			t.Errorf("%s: %s has the parts %+v, and none is %s", language, tc.text, parts, tc.former)
		}
		if m := score(t, c, "company", tc.text, tc.former); m.Score >= threshold {
			t.Errorf("%s: %s is %s without its parts: %.3f", language, tc.text, tc.former, m.Score)
		}
	}
}

func TestEachPhraseBetweenNamesSplitsThem(t *testing.T) {
	c, tried := names.New(), 0
	for _, row := range tableRows(t, "joins.txt") {
		use, phrases, _ := strings.Cut(row, ": ")
		text, want := "Zelmarind Werke %s Koverapund Handel", []string{"Zelmarind Werke", "Koverapund Handel"}
		switch use {
		case "name", "between":
		case "inside":
			text, want = "泽尔马林实业%s科沃普德贸易", []string{"泽尔马林实业", "科沃普德贸易"}
		default:
			continue
		}
		for phrase := range strings.SplitSeq(phrases, " | ") {
			tried++
			if diff := cmp.Diff(want, split(c, fmt.Sprintf(text, phrase))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", phrase, diff)
			}
		}
	}
	if tried < 180 {
		t.Errorf("%d phrases were tried, want more", tried)
	}
}

// Names as they were published, and the names that a reader takes from them.
func TestPublishedNamesHaveTheirParts(t *testing.T) {
	c := names.New()
	for text, want := range map[string][]string{
		// The consolidated list of the UN.
		"HAQQANI NETWORK (HQN)":                               {"HAQQANI NETWORK", "~HQN"},
		"FORCES DEMOCRATIQUES DE LIBERATION DU RWANDA (FDLR)": {"FORCES DEMOCRATIQUES DE LIBERATION DU RWANDA", "~FDLR"},
		"ADF (ALLIED DEMOCRATIC FORCES)":                      {"~ADF", "ALLIED DEMOCRATIC FORCES"},
		"COMPAGNIE AERIENNE DES GRANDS LACS (CAGL); GREAT LAKES BUSINESS COMPANY (GLBC)": {
			"COMPAGNIE AERIENNE DES GRANDS LACS", "~CAGL", "GREAT LAKES BUSINESS COMPANY", "~GLBC",
		},
		"UGANDA COMMERCIAL IMPEX (UCI) LTD":                {"~UGANDA COMMERCIAL IMPEX LTD", "~UCI"},
		"TOUS POUR LA PAIX ET LE DEVELOPPEMENT (NGO)":      {"~TOUS POUR LA PAIX ET LE DEVELOPPEMENT"},
		"HARAKAT UL-MUJAHIDIN / HUM":                       {"HARAKAT UL-MUJAHIDIN", "~HUM"},
		"Al Qa'ida/Islamic Army":                           {"Al Qa'ida", "Islamic Army"},
		"LASHKAR I JHANGVI (LJ)":                           {"LASHKAR I JHANGVI", "~LJ"},
		"OCEAN MARITIME MANAGEMENT COMPANY, LIMITED (OMM)": {"OCEAN MARITIME MANAGEMENT COMPANY, LIMITED", "~OMM"},
		// The annexes of resolutions 1737 (2006) and 1747 (2007) of the Security Council.
		"Novin Energy Company (aka Pars Novin)":                                    {"Novin Energy Company", "Pars Novin"},
		"Cruise Missile Industry Group (aka Naval Defence Missile Industry Group)": {"Cruise Missile Industry Group", "Naval Defence Missile Industry Group"},
		"Kavoshyar Company (subsidiary company of AEOI)":                           {"Kavoshyar Company"},
		"Parchin Chemical Industries (branch of DIO)":                              {"Parchin Chemical Industries"},
		"Mesbah Energy Company (provider for A40 research reactor – Arak)":         {"Mesbah Energy Company"},
		"Kala-Electric (aka Kalaye Electric) (provider for PFEP – Natanz)":         {"Kala-Electric", "Kalaye Electric"},
		"Atomic Energy Organisation of Iran (AEOI)":                                {"Atomic Energy Organisation of Iran", "~AEOI"},
		"Esfahan Nuclear Fuel Research and Production Centre (NFRPC) and Esfahan Nuclear Technology Centre (ENTC)": {
			"Esfahan Nuclear Fuel Research and Production Centre", "~NFRPC", "Esfahan Nuclear Technology Centre", "~ENTC",
		},
		// The list of OFAC.
		"ISLAMIC REVOLUTIONARY GUARD CORPS (IRGC)-QODS FORCE": {"ISLAMIC REVOLUTIONARY GUARD CORPS -QODS FORCE", "~IRGC", "IRGC QODS FORCE"},
	} {
		if diff := cmp.Diff(want, split(c, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestATextIsSplitAtWhatJoinsNames(t *testing.T) {
	c := names.New()
	for text, want := range map[string][]string{
		"Velmor Works a.k.a. Nordic Volga":                              {"Velmor Works", "Nordic Volga"},
		"Velmor Works, f.k.a.: Nordic Volga, n/k/a Volga Orlov":         {"Velmor Works", "Nordic Volga", "Volga Orlov"},
		"Viktor Zamoyskov alias Ivan Testov":                            {"Viktor Zamoyskov", "Ivan Testov"},
		"Jean Velmor dit Paul Orlov":                                    {"Jean Velmor", "Paul Orlov"},
		"Иван Тестов (он же Пётр Замойсков)":                            {"Иван Тестов", "Пётр Замойсков"},
		"Maria Velmora née Zamoyskova":                                  {"Maria Velmora", "Zamoyskova"},
		"贸易公司德洛（又名：哈尔滨德洛工业）":                                            {"贸易公司德洛", "哈尔滨德洛工业"},
		"محمد فلمور المعروف باسم أبو زمير":                              {"محمد فلمور", "أبو زمير"},
		"Velmor Works (formerly: Orlov Plant; a.k.a. Zamoy, Volga Two)": {"Velmor Works", "Orlov Plant", "Zamoy, Volga Two", "Volga Two"},
		"Velmor (Green Volga) Shipping Lines":                           {"Velmor Shipping Lines", "Green Volga Shipping Lines"},
		"Velmor Network (VLN":                                           {"Velmor Network", "~VLN"},
		"[VLN] Velmor Network":                                          {"Velmor Network", "~VLN"},
		"Velmor Front (Jabhat Velmor (JVM))":                            {"Velmor Front", "Jabhat Velmor", "~JVM"},
		"Abdul(l)ah Velmor":                                             {"Abdulah Velmor"},
		"Tan Ah Velm @ Chen Ah Zamo":                                    {"Tan Ah Velm", "Chen Ah Zamo"},
		"ブレノバ商事またの名ゼルマリンド工業":                                            {"ブレノバ商事", "ゼルマリンド工業"},
		"브레노바산업, 일명 젤마린드상사":                                             {"브레노바산업", "젤마린드상사"},
		"브레노바산업(구명칭: 젤마린드상사)":                                           {"브레노바산업", "젤마린드상사"},
		"TAN AH VELM@CHEN AH ZAMO":                                      {"TAN AH VELM", "CHEN AH ZAMO"},
		"Tan Ah Velm @Chen Ah Zamo":                                     {"Tan Ah Velm", "Chen Ah Zamo"},
		"Velmor Bin Zamoy ＠ Orlov (Ordrun Tan)":                         {"Velmor Bin Zamoy", "~Orlov", "Ordrun Tan"},
	} {
		if diff := cmp.Diff(want, split(c, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestARemarkIsNoName(t *testing.T) {
	c := names.New()
	for _, remark := range []string{
		"Offshore", "OFFSHORE", "UK", "Pvt", "P", "deceased", "Deceased", "India", "IRAN", "Россия", "Ltd", "OJSC", "2001", "No. 2",
		"Moscow", "Northern Branch", "Head Office", "北方分公司", "Trading", "Group", "集团", "Persero", "Haji", "NGO",
		"false identity related to fraudulent identification number 0000", "linked to Orlov Works", "born in Velmor",
	} {
		text := "Velmor Network (" + remark + ")"
		if got := split(c, text); len(got) != 1 || strings.TrimPrefix(got[0], "~") != "Velmor Network" {
			t.Errorf("%s has the parts %q, want Velmor Network alone", text, got)
		}
	}
}

func TestOneNameIsNotSplit(t *testing.T) {
	c := names.New()
	for _, text := range []string{
		"Novo Nordisk A/S", "Mærsk A / S", "Ravi Kumar S/O Mohan Lal", "Ravi Kumar S / O Mohan Lal", "Asha Rao c/o Mohan Rao", "24/7 Medical Care", "24 / 7 Medical Care",
		"viktor@velmor.example", "Viktor Velmor viktor@velmor.example Nordic Volga", "Velmor@Home", "Velmor Orlov @Home", "Velmor Orlov@Home", "V @ Z",
		"AC/DC", "Bau/Wohnen GmbH", "Alias Systems", "Formerly Known", "Jean-Paul Velmor", "Velmor, Viktor", "Velmor - Nordic", "Ou Yang", "O'Velmor", "T. A. Velmor", "()", "a.k.a.", "", "제일명가 주식회사",
	} {
		if got := split(c, text); len(got) > 0 {
			t.Errorf("%s has the parts %q, want none", text, got)
		}
	}
}

func TestPartsAreBounded(t *testing.T) {
	c := names.New()
	var many []string
	for _, r := range "abcdefghijklmnopqrstuvwxyz" {
		many = append(many, "Velmor Zamoy"+strings.Repeat(string(r), 3))
	}
	for _, text := range []string{strings.Join(many, "; "), strings.Repeat("Velmor (", 3000), strings.Repeat("Velmor Works / ", 3000)} {
		parts, more := c.Split(text)
		if len(parts) > names.MaxParts || !more {
			t.Errorf("%.40s: %d parts, more %t, want at most %d and more", text, len(parts), more, names.MaxParts)
		}
	}
}
