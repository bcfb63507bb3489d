// Tests of names that are hidden from a screening, and of honest names that look like it.

package watchlist_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// trick hides a name.
type trick struct {
	name string
	hide func(string) string
}

// letterwise returns a trick that rewrites each letter but the last of a word.
func letterwise(name, between string) trick {
	return trick{name, func(s string) string {
		var b strings.Builder
		runes := []rune(s)
		for i, r := range runes {
			b.WriteRune(r)
			if i+1 < len(runes) && unicode.IsLetter(r) && unicode.IsLetter(runes[i+1]) {
				b.WriteString(between)
			}
		}
		return b.String()
	}}
}

// shifted returns a trick that writes letters of a block of Unicode.
func shifted(name string, upper, lower rune) trick {
	return trick{name, func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'A' && r <= 'Z':
				return r - 'A' + upper
			case r >= 'a' && r <= 'z':
				return r - 'a' + lower
			}
			return r
		}, s)
	}}
}

func replaced(name string, n int, pairs ...string) trick {
	return trick{name, func(s string) string {
		if n < 0 {
			return strings.NewReplacer(pairs...).Replace(s)
		}
		var out []string
		for _, word := range strings.Fields(s) {
			done := 0
			for i := 0; i < len(pairs) && done < n; i += 2 {
				if strings.Contains(word, pairs[i]) {
					word = strings.Replace(word, pairs[i], pairs[i+1], 1)
					done++
				}
			}
			out = append(out, word)
		}
		return strings.Join(out, " ")
	}}
}

func around(name, before, after string) trick {
	return trick{name, func(s string) string { return before + s + after }}
}

func backwards(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

func tricks() []trick {
	words := "Red Blue Green Stone River Hill Field Lake North South East West Upper Lower Great Little "
	all := []trick{
		letterwise("zero width spaces", "\u200b"), letterwise("soft hyphens", "\u00ad"), letterwise("word joiners", "\u2060"),
		letterwise("tags", "\U000e0061"), letterwise("variation selectors", "\ufe0f"), letterwise("more variation selectors", "\U000e0101"),
		letterwise("grapheme joiners", "\u034f"), letterwise("Hangul fillers", "\u3164"), letterwise("Mongolian vowel separators", "\u180e"),
		letterwise("left-to-right marks", "\u200e"), letterwise("isolates", "\u2068\u2069"), letterwise("braille blanks", "\u2800"),
		letterwise("marks", "\u0336"), letterwise("emoji", "😀"), letterwise("apostrophes", "'"), letterwise("hyphens", "-"),
		letterwise("underscores", "_"), letterwise("full stops", "."), letterwise("spaces", " "), letterwise("no-break spaces", "\u00a0"),
		letterwise("stars and spaces", " * "), letterwise("commas", ", "), letterwise("slashes", "/"),
		{"spaces, words two spaces apart", func(s string) string {
			return letterwise("", " ").hide(strings.ReplaceAll(s, " ", "  "))
		}},
		{"hyphens and no spaces", func(s string) string { return letterwise("", "-").hide(strings.ReplaceAll(s, " ", "-")) }},
		shifted("full width", 'Ａ', 'ａ'), shifted("mathematical", '𝐀', '𝐚'), shifted("script", '𝓐', '𝓪'), shifted("circled", 'Ⓐ', 'ⓐ'),
		shifted("in parentheses", 'A', '⒜'), shifted("squared", '🄰', '🄰'), shifted("negative squared", '🅰', '🅰'), shifted("flags", '🇦', '🇦'),
		replaced("small capitals", -1, "a", "ᴀ", "e", "ᴇ", "i", "ɪ", "o", "ᴏ", "t", "ᴛ", "r", "ʀ", "n", "ɴ"),
		{"joined", func(s string) string { return strings.ReplaceAll(s, " ", "") }},
		replaced("doubled letters", -1, "o", "oo", "r", "rr"),
		around("titles", "His Excellency Dr. Sheikh ", " PhD"), around("three words in front", "Peter Paul Anton ", ""),
		replaced("one Cyrillic letter", 1, "o", "о", "a", "а", "i", "і", "e", "е"),
		replaced("two Cyrillic letters", 2, "o", "о", "i", "і", "a", "а", "e", "е"),
		replaced("all Cyrillic letters", -1, "o", "о", "i", "і", "a", "а", "e", "е", "c", "с", "p", "р", "y", "у", "s", "ѕ"),
		replaced("Cyrillic capitals", -1, "K", "К", "M", "М", "T", "Т", "B", "В", "H", "Н", "A", "А", "o", "о", "a", "а"),
		replaced("Greek letters", -1, "o", "ο", "i", "ι", "v", "ν", "a", "α"), replaced("Armenian letters", -1, "o", "օ", "n", "ո", "a", "а", "u", "ս"),
		replaced("Cherokee letters", -1, "i", "Ꭵ", "V", "Ꮩ", "A", "Ꭺ", "T", "Ꭲ", "K", "Ꮶ", "a", "ꭺ"), replaced("Lisu letters", -1, "V", "ꓦ", "Z", "ꓜ", "K", "ꓗ", "N", "ꓠ", "o", "ꓳ"),
		replaced("Han characters", 2, "o", "口", "a", "丹", "i", "工", "e", "巳"),
		replaced("one digit", 1, "o", "0", "i", "1", "e", "3", "a", "4"), replaced("two digits", 2, "o", "0", "i", "1", "e", "3", "a", "4", "s", "5"),
		replaced("digits", -1, "o", "0", "i", "1", "e", "3", "a", "4", "s", "5", "t", "7"), replaced("one as l", -1, "l", "1", "o", "0"),
		replaced("signs", -1, "a", "@", "s", "$", "i", "!"),
		{"backwards behind an override", func(s string) string { return "\u202e" + backwards(s) }},
		{"each word backwards", func(s string) string {
			var out []string
			for _, word := range strings.Fields(s) {
				out = append(out, "\u202e"+backwards(word)+"\u202c")
			}
			return strings.Join(out, " ")
		}},
		around("15 words in front", words[:len(words)-len("Little ")], ""), around("16 words in front", words, ""),
		around("15 initials in front", "A B C D E F G H I J K L M N O ", ""), around("300 words in front", strings.Repeat("a ", 300), ""),
		around("500 characters in front", strings.Repeat("x", 500)+" ", ""), around("400 words behind", "", strings.Repeat(" Viktor", 400)),
		around("16 words on both sides", words, " "+words), around("500 invisible characters in front", strings.Repeat("\u200b", 500), ""),
	}
	hide := func(names ...string) trick {
		return trick{strings.Join(names, ", "), func(s string) string {
			for _, name := range names {
				i := slices.IndexFunc(all, func(t trick) bool { return t.name == name })
				s = all[i].hide(s)
			}
			return s
		}}
	}
	return append(all,
		hide("two Cyrillic letters", "digits"), hide("digits", "spaces"), hide("two Cyrillic letters", "spaces"), hide("two digits", "full stops"),
		hide("two Cyrillic letters", "backwards behind an override"), hide("digits", "backwards behind an override"), hide("spaces", "backwards behind an override"),
		hide("two Cyrillic letters", "zero width spaces"), hide("full width", "hyphens"), hide("two Cyrillic letters", "16 words in front"),
		hide("digits", "15 words in front"), hide("full width", "15 words in front"), hide("Greek letters", "signs"), hide("joined", "two Cyrillic letters"),
		hide("joined", "digits"), hide("joined", "spaces"), hide("titles", "two Cyrillic letters"), hide("marks", "two Cyrillic letters", "full stops"),
	)
}

// listedNames are the names of the list in which hidden names are searched.
func listedNames() []string {
	return []string{
		"person:Viktor Zamoyskov", "person:Ibrahim al-Khalidi", "person:Tobias Kesselring", "person:Ольга Мелентьева", "person:خالد المنصوري",
		"company:Korvatek Trading Ltd", "company:Zanotti Marini S.p.A.", "company:Орион Техэкспорт", "company:مؤسسة الواحة للتجارة",
	}
}

func trickList(t *testing.T) *watchlist.List {
	t.Helper()
	var b strings.Builder
	b.WriteString("kind,name\n")
	for _, listed := range listedNames() {
		kind, name, _ := strings.Cut(listed, ":")
		fmt.Fprintf(&b, "%s,%s\n", kind, name)
	}
	b.WriteString("person,Viktor Ilyich Zamoyskov\n")
	l, err := watchlist.Read(t.Context(), strings.NewReader(b.String()), watchlist.Format{Type: watchlist.CSV})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAHiddenNameIsAHitOrFlagged(t *testing.T) {
	l := trickList(t)
	for _, hidden := range tricks() {
		for _, listed := range listedNames() {
			kind, name, _ := strings.Cut(listed, ":")
			if kind == "company" && (strings.HasPrefix(hidden.name, "titles") || hidden.name == "three words in front") {
				continue // it is another company
			}
			text := hidden.hide(name)
			got, err := l.Search(watchlist.Subject{Kind: names.Kind(kind), Name: text}, 0.85)
			if err == nil && len(got.Hits) == 0 && len(got.Doubts) == 0 {
				t.Errorf("%s: %s %.80q has no hit and no doubt", hidden.name, kind, text)
			}
			if testing.Verbose() && err == nil {
				score := 0.0
				if len(got.Hits) > 0 {
					score = got.Hits[0].Score
				}
				t.Logf("%-40s %-30s %.3f %q", hidden.name, name, score, got.Doubts)
			}
		}
	}
}

func TestAnHonestNameIsNotFlagged(t *testing.T) {
	l := trickList(t)
	for _, honest := range []struct {
		kind  names.Kind
		names []string
	}{
		{names.Person, []string{
			"J. R. R. Tolkien", "J.R.R. Tolkien", "JRR Tolkien", "A. P. J. Abdul Kalam", "P.V.R.K. Prasad", "W. M. R. S. Perera", "K D L N S Wickrama", "Louis XIV",
			"Jean-Paul Marie-Luc", "Anne-Marie-Louise-Elisabeth", "Xi Li", "Wu Yi", "Le Vu An Ha", "Ng Ah Ho", "Li Na", "王小明", "王 小 明", "이순신", "이 순 신", "山田 タロウ", "やまだ太郎",
			"d'Angelo O'Brien", "N'Golo K'Ogalo", "Мария Иванова", "Сара Роса", "Cергей Петров", "Ђорђе Петровић", "Ιωάννης Παπαδόπουλος", "Ελένη Ψαρά", "خالد المنصوري",
			"علی\u200cرضا محمدی", "أحمد\u200f الخطيب", "דוד בן־גוריון", "ए. पी. जे. अब्दुल कलाम", "क्षितिज शर्मा", "ส้ม ไทย", "Weiβ", "Đỗ Thị Hương", "Ayşe Gül", "Ìbùkún Ọládélé",
			"Кәрим Әхмәт", "Juan de la Cruz 3rd", "John Smith 2", "Robert Smith III", "Anna @ Anja Schmidt", "Abdullah bin Ahmad @ Dollah", "Ahmed أحمد", "Tegan Müller (geb. Weiß)",
			"María del Carmen Fernández de la Vega y Sanz de Soto", "Muhammad ibn Abd al-Karim ibn Ali ibn Omar ibn Said al-Harbi",
		}},
		{names.Company, []string{
			"S A", "A B C Ltd", "A.B.C. Ltd", "U.S.A.F.E. Ltd", "3M", "G4S", "B2B Solutions", "7Eleven", "4Life", "H2O Ltd", "Brigade 44", "Web2Print GmbH", "Toys@Home", "Yahoo!", "A$AP Records",
			"Zanotti S.p.A. e C. s.a.s.", "ООО «IT-Сервис»", "Евроopt", "1С-Битрикс", "株式会社ABC商事", "LG전자", "中国石化SINOPEC集团", "μTorrent", "AT&T", "M&M's", "P&O", "Marks & Spencer",
			"Procter & Gamble Co., Ltd.", "24/7 Media", "Société Générale S.A.", "E.ON SE", "A.P. Møller – Mærsk A/S", "BMW AG", "N26 Bank", "O2", "شركة ABC للتجارة", "Н2О Сервис",
		}},
	} {
		for _, name := range honest.names {
			got, err := l.Search(watchlist.Subject{Kind: honest.kind, Name: name}, 0.85)
			if err != nil {
				t.Errorf("Search(%s %q) = %v", honest.kind, name, err)
			}
			if len(got.Doubts) > 0 {
				t.Errorf("Search(%s %q) has the doubts %q, want none", honest.kind, name, got.Doubts)
			}
		}
	}
}
