// Sentences: what flags and cards say, as values that can be translated.

package rules

import (
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Sentence is a sentence of a flag or a card. A fixed one has a Key, by which it is
// translated; any other has the Text of the workflow.
type Sentence struct {
	// Key is one of SentenceKeys: a Cause, "earlier." and a Cause for an earlier visit of the
	// step, "unscreened." and an UnscreenedWhy, "source." and why a source gave no answer, an ErrorCode, or a word such as
	// "unfinished".
	Key  string `json:"key,omitempty"`
	Text string `json:"text,omitempty"`
	// Provider is the provider whose answer the sentence is about, and Finding the stable word that the answer gives as its
	// reason, such as too_young: the description of the provider may have words for both. Both may be empty.
	Provider string `json:"provider,omitempty"`
	Finding  string `json:"finding,omitempty"`
}

// The keys of sentences that are no cause.
const (
	sentenceUnfinished = "unfinished"
	sentenceApproved   = "approved"
	sentenceRejected   = "rejected"
	sentenceNoAnswer   = "no_answer"
	sentenceNotPassed  = "not_passed"
	// Of members of a group, and of sources that cannot tell.
	sentenceNotNeeded    = "not_needed"
	sentenceNotConfirmed = "not_confirmed"
	sentenceNoCoverage   = "no_coverage"
	sentenceInconclusive = "inconclusive"
	sentenceGone         = "gone" // of an element that the last visit does not have

	// earlierPrefix begins the key of a cause that holds for an earlier visit of a step, and
	// not for the last one.
	earlierPrefix = "earlier."
	// sourcePrefix begins the key of CauseSource where no source gave an answer, and says why.
	sourcePrefix = string(CauseSource) + "."
)

// SentenceKeys returns the keys of all fixed sentences of flags, cards and timelines.
func SentenceKeys() (keys []string) {
	for _, c := range Causes() {
		switch c {
		case CauseSource, CauseHit, CauseAnalysis, CauseOptedOut, CauseLocation, CauseConsent, CauseRecovered:
			keys = append(keys, string(c), earlierPrefix+string(c))
		case CauseReviewStep, CauseDispatches, CauseRescreened, CauseOverruled: // of a step, not of a visit
			keys = append(keys, string(c))
		case CauseProposal: // of a run
		}
	}
	for _, why := range []UnscreenedWhy{unscreenedDecided, unscreenedCancelled, unscreenedTooLong, unscreenedEnded} {
		keys = append(keys, unscreenedPrefix+string(why))
	}
	for _, why := range []string{sentenceNoAnswer, sentenceNoCoverage, sentenceInconclusive} {
		keys = append(keys, sourcePrefix+why, earlierPrefix+sourcePrefix+why)
	}
	return append(keys, sentenceUnfinished, sentenceApproved, sentenceRejected, sentenceNoAnswer, sentenceNotPassed,
		sentenceNotNeeded, sentenceNotConfirmed, sentenceNoCoverage, sentenceInconclusive,
		sentenceGone, string(CodeLinkExpired), string(CodeRunExpired))
}

// Sentence returns the sentence of the cause. A review step with a Reason has that instead.
func (c Cause) Sentence() Sentence { return Sentence{Key: string(c)} }

// Sentence returns what the error says.
func (e RunError) Sentence() Sentence {
	switch e.Code {
	case CodeLinkExpired, CodeRunExpired:
		return Sentence{Key: string(e.Code)}
	case CodeCheckFailed, CodeCheckUnavailable, CodeInternalError:
	}
	return Sentence{Text: e.Message}
}

// String returns the sentence in English, as the API has it.
func (s Sentence) String() string {
	cause, earlier := strings.CutPrefix(s.Key, earlierPrefix)
	switch {
	case earlier && cause == sentenceNoCoverage:
		return "On an earlier visit, the source did not cover this person or company."
	case earlier && cause == sentenceInconclusive:
		return "On an earlier visit, what the source found decided nothing."
	case earlier:
		first, rest, _ := strings.Cut(Cause(cause).Sentence().String(), " ")
		return "On an earlier visit, " + strings.ToLower(first) + " " + rest
	}
	if strings.HasPrefix(s.Key, sourcePrefix) {
		return CauseSource.Sentence().String()
	}
	switch s.Key {
	case string(CauseReviewStep):
		return "The workflow asks for a manual review."
	case string(CauseSource):
		return "The source could not vouch for the answer."
	case string(CauseHit):
		return "A possible match on a list was found."
	case string(CauseAnalysis):
		return "The analysis could not be completed with confidence."
	case string(CauseOptedOut):
		return "The customer opted out of this step."
	case string(CauseLocation):
		return "The customer's location was not shared or lies outside the allowed area."
	case string(CauseConsent):
		return "The customer did not give consent."
	case string(CauseRecovered):
		return "The step recovered from a failure."
	case string(CauseDispatches):
		return "The step was dispatched three or more times."
	case string(CauseRescreened):
		return "A later version of the list has a new hit."
	case string(CauseOverruled):
		return "A hit was cleared by a decision that no longer counts."
	case string(CauseProposal):
		return "A second reviewer must confirm the proposed verdict."
	case sentenceUnfinished:
		return "The run ended before this step was finished."
	case sentenceApproved:
		return "A reviewer approved the run."
	case sentenceRejected:
		return "A reviewer rejected the run."
	case sentenceNoAnswer:
		return "The source gave no answer."
	case sentenceNotPassed:
		return "The check did not pass."
	case sentenceNotNeeded:
		return "The answer was not needed."
	case sentenceNotConfirmed:
		return "The answer does not confirm what was asked."
	case sentenceNoCoverage:
		return "The source does not cover this person or company."
	case sentenceInconclusive:
		return "What the source found decides nothing."
	case sentenceGone:
		return "Only an earlier visit came here."
	case unscreenedPrefix + string(unscreenedDecided):
		return "Nobody was screened: the group was decided before this check was called."
	case unscreenedPrefix + string(unscreenedCancelled):
		return "Nobody was screened: the group was decided before this check answered."
	case unscreenedPrefix + string(unscreenedTooLong):
		return "Nobody was screened: the list has too many elements."
	case unscreenedPrefix + string(unscreenedEnded):
		return "Nobody was screened: the run ended before this check was called."
	case string(CodeLinkExpired):
		return "The customer did not complete the journey before it expired."
	case string(CodeRunExpired):
		return "The run did not finish before its deadline."
	}
	return s.Text
}

// Words returns the sentence in English, as people read it in a report for the file.
func (s Sentence) Words() string {
	s.Key = strings.Replace(s.Key, sourcePrefix, "", 1)
	if s.Key == string(CauseDispatches) {
		return "It took three or more requests to get an answer."
	}
	return s.String()
}

// AnswerSentence returns the sentence that says what became of a check that did not pass: a provider answered with the outcome
// and the data or, for an empty outcome, gave no answer.
func AnswerSentence(o verification.CheckOutcome, provider string, d verification.Data) Sentence {
	s := Sentence{Key: sentenceNoAnswer, Provider: provider}
	switch o {
	case verification.OutcomeFailed:
		s.Key = sentenceNotPassed
		if finding, _ := findingOf(d); len(finding) <= maxCode && strings.Trim(finding, codeLetters) == "" {
			s.Finding = finding
		}
	case verification.OutcomeNoCoverage:
		s.Key = sentenceNoCoverage
	case verification.OutcomeInconclusive:
		s.Key = sentenceInconclusive
	case verification.OutcomePassed, verification.OutcomePending, verification.OutcomeRedirect: // say nothing against it
	}
	return s
}

// A stable word, which is no text for people, has at most maxCode of these letters.
const (
	maxCode     = 40
	codeLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"
)

// Worded returns the sentence in the words of the provider whose answer it is about, if its description has words for it. A nil
// describe knows no provider.
func (s Sentence) Worded(describe func(provider string) verification.ProviderDescription) Sentence {
	outcome := map[string]verification.CheckOutcome{
		sentenceNotPassed: verification.OutcomeFailed, sentenceNoCoverage: verification.OutcomeNoCoverage,
		sentenceInconclusive: verification.OutcomeInconclusive,
	}[strings.TrimPrefix(s.Key, sourcePrefix)]
	if s.Provider == "" || outcome == "" || describe == nil {
		return s
	}
	d := describe(s.Provider)
	text := shortened(d.Words[outcome], verification.MaxWords)
	if s.Finding != "" {
		if why := workflow.DataSchema(d.Data.Map()).Field("reason").Choice(s.Finding); why != s.Finding {
			text = strings.TrimSpace(text + " " + why)
		}
	}
	if text == "" {
		return s
	}
	return Sentence{Text: text}
}

// english returns sentences in English, joined by spaces.
func english(all []Sentence) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.String()
	}
	return strings.Join(texts, " ")
}
