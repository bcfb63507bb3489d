// Tests of texts that have several names.

package names_test

import (
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
