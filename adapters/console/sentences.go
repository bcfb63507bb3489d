// The fixed sentences of the rules in the language of the reader.

package console

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/verifyd/verifyd/internal/web"
)

// sentencePrefix begins the keys of messages that translate a sentence of the rules.
const sentencePrefix = "sentence: "

// sentences translate the fixed sentences inside a text, by language.
type sentences map[string]*strings.Replacer

func readSentences(files fs.FS) (sentences, error) {
	all := sentences{}
	for _, language := range web.Languages() {
		raw, err := fs.ReadFile(files, "messages/"+language+".json")
		if err != nil {
			return nil, err
		}
		var messages map[string]string
		if err := json.Unmarshal(raw, &messages); err != nil {
			return nil, err
		}
		var pairs []string
		for key, text := range messages {
			if sentence, ok := strings.CutPrefix(key, sentencePrefix); ok {
				pairs = append(pairs, sentence, text)
			}
		}
		all[language] = strings.NewReplacer(pairs...)
	}
	return all, nil
}

// sentence returns a text of the rules in the language of the reader.
func (c *console) sentence(s session, text string) string { return c.texts[s.Lang()].Replace(text) }

// isolate keeps the direction of a text from that of the sentence around it.
func isolate(s string) string { return "\u2068" + s + "\u2069" }
