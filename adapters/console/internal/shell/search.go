// Search: what a person types is a reference, the id of a run, or the words of a person.

package shell

import (
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/store"
)

// A search is posted, so that no URL has what a person typed about another person: the page
// that it leads to has the keyed hashes of the words instead. A reference stays in the URL.

// WordsField is the name of the search keys in the query of a page.
const WordsField = "words"

// SearchKeys returns the search keys in the query of a page; nil for none.
func SearchKeys(words string) [][]store.SearchKey {
	keys, err := store.ParseKeys(words)
	if err != nil {
		return nil
	}
	return keys
}

// Searched returns what a list is filtered by after a text was typed: the text as the beginning
// of a reference or as a run id, or the keys of its words. It is a reference if some run of
// the list matches it, which count counts.
func (sh *Shell) Searched(
	s Session, text string, count func(reference string) (int, error),
) (reference, words string, err error) {
	text = strings.TrimSpace(text)
	keys := sh.Engine.SearchKeys(s.Tenant, facts.ParseSearch(text))
	if _, err := verification.ParseRunID(text); err == nil || len(keys) == 0 {
		return text, "", nil
	}
	n, err := count(text)
	if err != nil || n > 0 {
		return text, "", err
	}
	return "", store.FormatKeys(keys), nil
}
