// The index of a person's file: what the file is, in plain words.

package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// index returns index.txt.
func (w *personWriter) index(tenant verification.Tenant) string {
	var b strings.Builder
	whose := fmt.Sprintf("the person of run %s", w.Run)
	if w.Run == "" {
		whose = fmt.Sprintf("the person with the reference id %q", w.ReferenceID)
	}
	if w.who != "" {
		whose = fmt.Sprintf("%s, at %s of run %s", w.who, w.Element, w.Run)
	}
	fmt.Fprintf(&b, "Personal data of one person\n===========================\n\n")
	for _, row := range [][2]string{
		{"Whose file", whose},
		{"Made", w.at.Format(time.RFC3339) + " by " + cmp.Or(w.By, "nobody who is named")},
		{"For", fmt.Sprintf("%s (tenant %s)", cmp.Or(tenant.Name, "a tenant without a name"), tenant.ID)},
		{"Runs", fmt.Sprint(w.Runs)},
		{"Documents", fmt.Sprint(w.PersonFile.Documents)},
	} {
		fmt.Fprintf(&b, "%-12s%s\n", row[0], oneLine(row[1]))
	}
	if w.ScreeningReason != "" {
		fmt.Fprintf(&b, "\nThis file also has what screening found and what reviewers wrote. The reason that was given:\n%s\n"+
			"Telling the person of it can be an offence.\n", oneLine(w.ScreeningReason))
	}
	if w.RestrictedReason != "" {
		fmt.Fprintf(&b, "\nThis file also has what is hidden of a restricted run. The reason that was given:\n%s\n", oneLine(w.RestrictedReason))
	}
	if w.who != "" {
		fmt.Fprintf(&b, "\nThis file is about %s alone: their item in each list, and the checks, answers and documents of that item. The rest of the run\n"+
			"is about others, and is not here. Items with another name or birth date count as others, also in earlier lists.\n", oneLine(w.who))
	}
	if w.Differ {
		b.WriteString("\nThe runs of this file name different people: their names or birth dates differ. They are here because they have the\n" +
			"same reference id. Check this before the file is handed over: it may have personal data of somebody else.\n")
	}
	b.WriteString(`
This is the file of article 15 of the General Data Protection Regulation: a copy of the personal
data that is kept here. A run is one verification of the person. All times are in UTC.

Runs
----
`)
	for _, text := range w.runs {
		b.WriteString("\n" + text)
	}
	b.WriteString(w.files())
	b.WriteString(w.leftOut())
	b.WriteString(`
Limits of the right of access
-----------------------------

The law may limit access: it protects the rights of other people and trade secrets, and laws against
money laundering and terrorist financing forbid telling a person of some measures. Whoever hands
over the file checks this first, and tells the person what else article 15 asks for: the purposes,
the recipients, how long the data is kept, and the rights of the person.
`)
	return b.String()
}

// restricted says that a run is restricted; it returns nothing for another one.
func (w *personWriter) restricted(run rules.Run) string {
	switch since := run.RestrictedAt; {
	case since.IsZero():
		return ""
	case w.RestrictedReason == "":
		return "This run has been restricted since " + since.Format(time.RFC3339) + ". Its personal data is kept, and is not in this file."
	default:
		return "This run has been restricted since " + since.Format(time.RFC3339) + ". This file has its personal data all the same."
	}
}

// index returns what the index says of a run with these entries. missing are the documents that are not
// in the store, and restricted says that the run is restricted.
func (r personRun) index(entries []personEntry, missing []string, restricted string) string {
	var b strings.Builder
	view := r.run.Summary().View(r.at)
	fmt.Fprintf(&b, "%s\n  %s, version %d; started %s", r.run.ID, oneLine(r.run.Started.WorkflowName), r.run.Started.Version, view.StartedAt.Format(time.RFC3339))
	if !view.CompletedAt.IsZero() {
		fmt.Fprintf(&b, ", ended %s", view.CompletedAt.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "; %s\n", strings.ReplaceAll(string(view.Status), "_", " "))
	if at := r.run.RedactedAt; !at.IsZero() {
		fmt.Fprintf(&b, "  The personal data of this run was removed at %s.\n", at.Format(time.RFC3339))
	}
	if at := r.run.DocumentsRemovedAt; !at.IsZero() {
		fmt.Fprintf(&b, "  The uploaded files of this run were removed at %s.\n", at.Format(time.RFC3339))
	}
	if restricted != "" {
		fmt.Fprintf(&b, "  %s\n", restricted)
	}
	asked := slices.DeleteFunc(slices.Clone(entries), func(e personEntry) bool { return e.Kind != personAsked })
	heading := "  Sources that were asked, and the fields that were sent:\n"
	if len(asked) == 0 {
		heading = "  No source was asked.\n"
	}
	b.WriteString(heading)
	for _, e := range asked {
		fmt.Fprintf(&b, "    %s  %s (%s): %s\n", e.At.Format(time.RFC3339), oneLine(e.Label), oneLine(e.Source),
			oneLine(cmp.Or(strings.Join(e.SentFields, ", "), "no fields")))
	}
	for _, name := range missing {
		fmt.Fprintf(&b, "  The document %s was uploaded, but the document store does not have it.\n", oneLine(name))
	}
	return b.String()
}

// files says what each file is.
func (w *personWriter) files() string {
	text := `
A source also gets ids: of the request and, if it is declared so, of the run and the person.

Files
-----

Each run has a folder with its id:

` + w.wholeRun("run.json       the run, as the program shows it to the company") + `  report.json    the report of the run, as the person may get it
  data.json      what the run was started with, the answers of the person, and what sources were
                 asked and answered, by step, and corrections of values, the oldest first
` + w.wholeRun("consents.json  the texts of consents, the language, the answer and its time") + `  documents/     the files that the person uploaded
  redacted.txt   only if personal data was removed from the run
  restricted.txt only if the run is restricted
`
	if w.ScreeningReason != "" {
		text += `  review.json    reviews, verdicts with their reasons, proposals, notes, assignments and holds with the
                 names of reviewers; hits that were found later, decided or cleared; the outcome
`
	}
	return text
}

// wholeRun returns a line about a file that the file of an element does not have.
func (w *personWriter) wholeRun(line string) string {
	if w.who != "" {
		return ""
	}
	return "  " + line + "\n"
}

// leftOut says what the file does not have. It says the same of every person.
func (w *personWriter) leftOut() string {
	text := `
Left out
--------

  - report.pdf: reports are not printed here. report.json has the same content.
  - Copies that are kept elsewhere: backups, logs, and what sources and the company itself keep.
`
	if w.Run == "" {
		text += "  - Runs whose personal data was removed, and restricted runs: they are not found by a reference id. Each can have its own file.\n"
	}
	if w.WithoutDocuments {
		text += "  - documents/: this file was made without the uploads. data.json lists them.\n"
	}
	if w.ScreeningReason == "" {
		text += `  - What telling the person of can be an offence, because it may warn a person of a suspicion: entries
    of lists that were found or not found, decisions on them, reasons of rejections, notes,
    proposals and holds of reviewers, and the names of reviewers. Of a check against a list, data.json has the
    name of the list and whether the source could vouch for its answer. If a run has such a check,
    run.json and report.json have neither the check, reviews and flags nor the decision, the outcome
    and what the run waits for. This is left out of every file, whether there is any or not.
`
	}
	return text
}

// oneLine returns a text without line breaks and characters that are not shown.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
}
