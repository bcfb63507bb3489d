// Names in a machine readable zone, as Doc 9303-3, section 6, writes them.

package offline

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// spells reports whether the text of a zone can be the name. Spaces, hyphens and
// apostrophes do not matter. If the zone is truncated, it may have only the beginning
// of the name.
func spells(name, zone string, truncated bool) bool {
	zone = strings.ReplaceAll(zone, " ", "")
	ends := map[int]bool{0: true} // the positions in the zone at which the letters so far may end
	for _, letter := range strings.ToUpper(norm.NFC.String(name)) {
		if !unicode.IsLetter(letter) {
			continue
		}
		if truncated && ends[len(zone)] {
			return true
		}
		next := map[int]bool{}
		for end := range ends {
			for _, spelling := range spellings(letter) {
				if strings.HasPrefix(zone[end:], spelling) {
					next[end+len(spelling)] = true
				}
			}
		}
		if len(next) == 0 {
			return false
		}
		ends = next
	}
	return ends[len(zone)]
}

// spellings returns how a zone may write an upper-case Latin letter: itself without
// marks, or as issuers transliterate it. Letters of other scripts have none.
func spellings(letter rune) []string {
	known := map[rune][]string{
		'Ä': {"AE", "A"}, 'Å': {"AA", "A"}, 'Ö': {"OE", "O"}, 'Ø': {"OE", "O"}, 'Ü': {"UE", "UXX", "U"}, 'Ñ': {"N", "NXX"},
		'Æ': {"AE"}, 'Œ': {"OE"}, 'ẞ': {"SS"}, 'ß': {"SS"}, 'Þ': {"TH"}, 'Ð': {"D"}, 'Đ': {"D"}, 'Ħ': {"H"}, 'Ĳ': {"IJ"},
		'Ł': {"L"}, 'Ŋ': {"N"}, 'Ŧ': {"T"}, 'Ə': {"E"},
	}
	if spelled, ok := known[letter]; ok {
		return spelled
	}
	if base := norm.NFD.String(string(letter))[:1]; isLetter(rune(base[0])) {
		return []string{base}
	}
	return nil
}
