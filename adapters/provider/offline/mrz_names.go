// Names in a machine readable zone, as Doc 9303-3, section 6, writes them.

package offline

import (
	"maps"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// nameCut says what of a name may be missing in a zone because its field is full. Doc
// 9303-4, section 4.2.3, and the same section of parts 5 and 6, lets an issuer choose.
type nameCut struct {
	words bool // the end of each word, to an initial
	end   bool // the end of the name
}

// sameNames reports whether a surname and given names that the customer gave can be those of
// the zone. Of a person with one name, the zone has it as either (Doc 9303-3, section 4.6),
// and so has the customer, or as both.
func (z mrz) sameNames(surname, given string) (sameSurname, sameGiven bool) {
	sameSurname, sameGiven = spells(surname, z.surname, z.surnameCut), spells(given, z.given, z.givenCut)
	if z.surname != "" && z.given != "" {
		return sameSurname, sameGiven
	}
	is := func(name string) bool { return hasLetter(name) && spells(name, z.surname+z.given, z.givenCut) }
	switch {
	case is(surname + " " + given), is(given + " " + surname), is(surname) && is(given):
		return true, true
	}
	return sameSurname, sameGiven
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// spells reports whether the text of a zone can be the name. Spaces, hyphens and
// apostrophes do not matter, except that words of a name that is cut end at them.
func spells(name, zone string, cut nameCut) bool {
	stops := map[int]bool{} // the positions in the zone at which a word of it ends
	letters := ""
	for word := range strings.FieldsSeq(zone) {
		letters += word
		stops[len(letters)] = true
	}
	ends := map[int]bool{0: true} // the positions in the zone at which the letters so far may end
	for _, word := range strings.FieldsFunc(strings.ToUpper(norm.NFC.String(name)), isBetweenWords) {
		cutAt := map[int]bool{} // where the word may end before its last letter
		for _, letter := range word {
			if cut.end && ends[len(letters)] {
				return true
			}
			if !unicode.IsLetter(letter) || isApostrophe(letter) {
				continue
			}
			next := map[int]bool{}
			for end := range ends {
				for _, spelling := range spellings(letter) {
					if spelling == "" {
						next[end] = true
					}
					for n := 1; n <= len(spelling) && strings.HasPrefix(letters[end:], spelling[:n]); n++ {
						at := end + n
						if n == len(spelling) {
							next[at] = true
						}
						if stops[at] && cut.words || at == len(letters) && cut.end {
							cutAt[at] = true
						}
					}
				}
			}
			ends = next
		}
		maps.Copy(ends, cutAt)
	}
	return ends[len(letters)]
}

// isBetweenWords reports whether a character of a name is between two words of it.
func isBetweenWords(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) }

// isApostrophe reports whether a letter is a mark of the letters around it, which a zone leaves out, such as the ʻ of Uzbek and Hawaiian
// and the ʼ of Ukrainian.
func isApostrophe(r rune) bool {
	return unicode.Is(unicode.Lm, r) || strings.ContainsRune("ꞋɁʔ", r)
}

// spellings returns how a zone may write an upper-case Latin or Cyrillic letter: itself without
// marks, or as issuers transliterate it. Letters of other scripts have none.
func spellings(letter rune) []string {
	known := map[rune][]string{
		'Ä': {"AE", "A"}, 'Å': {"AA", "A"}, 'Ö': {"OE", "O"}, 'Ø': {"OE", "O"}, 'Ü': {"UE", "UXX", "U"}, 'Ñ': {"N", "NXX"},
		'Æ': {"AE"}, 'Œ': {"OE"}, 'ẞ': {"SS"}, 'ß': {"SS"}, 'Þ': {"TH"}, 'Ð': {"D"}, 'Đ': {"D", "DJ"}, 'Ħ': {"H"}, 'Ĳ': {"IJ"},
		'Ł': {"L"}, 'Ŋ': {"N"}, 'Ŧ': {"T"}, 'Ə': {"E"},
	}
	if spelled, ok := known[letter]; ok {
		return spelled
	}
	if unicode.Is(unicode.Cyrillic, letter) {
		return cyrillic(letter)
	}
	if base := norm.NFD.String(string(letter))[:1]; isLetter(rune(base[0])) {
		return []string{base}
	}
	return nil
}

// cyrillic returns how a zone may write an upper-case Cyrillic letter, by Doc 9303-3, section 6, table B, with the exceptions of single
// languages, the Ъ of Bulgaria and the Й of Ukraine. An empty text is a letter that the zone leaves out.
func cyrillic(letter rune) []string {
	const table = " АA БB ВV ГG,H ҐG ЃG,GJ ДD ЂD,DJ ЕE ЁE,IO ЄIE,YE ЖZH,Z ЗZ ЅDZ ИI,Y ІI ЇI,YI ЙI,Y ЈJ КK ЌK,KJ ЛL ЉLJ МM НN ЊNJ ОO ПP РR СS ТT" +
		" ЋC УU ЎU ФF ХKH,H ЦTS,C ЧCH,C ЏDZ,DJ ШSH,S ЩSHCH,SHT ЪIE,A, Ь ЫY ЭE ЮIU,YU ЯIA,YA ѪU ѴY ҒG "
	_, rest, ok := strings.Cut(table, " "+string(letter))
	if !ok {
		return nil
	}
	written, _, _ := strings.Cut(rest, " ")
	return strings.Split(written, ",")
}
