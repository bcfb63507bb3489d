// Earlier rejections of the person or company of a run.

package queue

import (
	"cmp"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification/rules"
)

// Earlier is another run of the person or company of a run.
type Earlier struct {
	URL, Reference string
	Subject        string // may be empty
	Why            string // what both runs have in common, and why, by whom and when the run was rejected
}

// EarlierOf returns what a page says of an earlier run.
func EarlierOf(s shell.Session, run desk.EarlierRun) Earlier {
	var why []string
	for _, by := range run.By {
		why = append(why, s.Say("related."+string(by)))
	}
	if reason := cmp.Or(run.Rejection.In(s.Lang()).Label, run.Rejection.Code); reason != "" {
		why = append(why, shell.Isolate(reason))
	}
	if v := run.Verdict; v.Decision == rules.DecisionReject {
		why = append(why, s.Say("earlier.by", shell.Isolate(cmp.Or(v.By, s.Say("verdict.program"))), s.At(v.At).Text[:len("2006-01-02")]))
	}
	return Earlier{s.Base + "/runs/" + string(run.Run), run.Reference, run.Subject, strings.Join(why, ", ")}
}
