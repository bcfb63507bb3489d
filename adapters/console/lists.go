// Lists: the pages of a list, and what its filters have in common.

package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/verifyd/verifyd/adapters/web"
	"github.com/verifyd/verifyd/verification"
)

// pageOf returns the page of a list that a request asks for: page=2 is the second, and
// anything else the first.
func pageOf(r *http.Request) verification.PageQuery {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || n < 1 || n > maxPage {
		n = 1
	}
	return verification.PageQuery{Limit: verification.DefaultLimit, Offset: (n - 1) * verification.DefaultLimit}
}

// pagerOf returns the links to the other pages of a list, which keep its filters; nil if
// there are none. shown is the number of entries on this page.
func pagerOf(r *http.Request, s session, q verification.PageQuery, shown, total int) *web.Pager {
	return s.pager(total, q.Offset, q.Limit, shown, func(offset int) string {
		values := url.Values{}
		for name, all := range r.URL.Query() {
			if name != "page" && len(all) > 0 && all[0] != "" {
				values.Set(name, all[0])
			}
		}
		if offset > 0 {
			values.Set("page", strconv.Itoa(offset/q.Limit+1))
		}
		return "?" + values.Encode()
	})
}

// pager returns the links to the pages of a list, each of so many entries; nil if it has
// one page.
func (s session) pager(total, offset, size, shown int, to func(offset int) string) *web.Pager {
	if total <= shown && offset == 0 {
		return nil
	}
	p := &web.Pager{
		Label: s.say("pager.label"), Previous: s.say("pager.previous"), Next: s.say("pager.next"),
		Text: s.say("pager.text", s.Number(offset+1), s.Number(offset+shown), s.Number(total)),
	}
	if shown == 0 {
		p.Text = s.say("pager.none", s.Number(total))
	}
	if offset > 0 {
		p.PreviousURL = to(max(0, offset-size))
	}
	if shown > 0 && offset+shown < total {
		p.NextURL = to(offset + size)
	}
	return p
}

// choice is an option of a select.
type choice struct {
	Value, Text string
	Chosen      bool
}

// choices returns the options of a select; the first one is for any value.
func choices(any, chosen string, values []string, text func(string) string) []choice {
	all := []choice{{Text: any, Chosen: chosen == ""}}
	for _, v := range values {
		all = append(all, choice{v, text(v), v == chosen})
	}
	return all
}
