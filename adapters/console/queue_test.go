// Tests of the queue page.

package console_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// references returns the references on a queue page, in their order.
func references(page string) []string {
	var all []string
	for _, part := range strings.Split(page, `" data-row title="`)[1:] {
		reference, _, _ := strings.Cut(part, `"`)
		all = append(all, reference)
	}
	return all
}

func TestTheQueueIsFilteredAndPaged(t *testing.T) {
	d := serve(t)
	ids := d.fill(120)
	p := d.as(reviewer(verification.RoleReviewer))
	if _, err := d.Engine.Claim(t.Context(), reviewer("").Tenant, ids[4], engine.ClaimRequest{By: "asha-reviewer", Name: "asha-reviewer"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Engine.Claim(t.Context(), reviewer("").Tenant, ids[5], engine.ClaimRequest{By: "ravi", Name: "ravi"}); err != nil {
		t.Fatal(err)
	}
	workflows, err := d.Engine.Workflows(t.Context(), reviewer("").Tenant, store.PageQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]verification.WorkflowID{}
	for _, w := range workflows.Data {
		byName[w.Name] = w.ID
	}
	for _, row := range []struct {
		query, first, last string
		shown              int
		texts              []string
	}{
		{"", "case-001", "case-050", 50, []string{"120 runs wait for a verdict", "1 to 50 of 120", `rel="next"`, `!rel="prev"`}},
		{"?page=3", "case-101", "case-120", 20, []string{"101 to 120 of 120", `!rel="next"`, `rel="prev"`}},
		{"?workflow=" + string(byName["Card limit"]), "case-003", "case-120", 40, []string{"40 runs wait", "!1 to"}},
		{"?search=case-01", "case-010", "case-019", 10, []string{"10 runs wait", `value="case-01"`}},
		{"?search=" + string(ids[6]), "case-007", "case-007", 1, []string{"1 run waits"}},
		{"?whose=mine", "case-005", "case-005", 1, []string{"You"}},
		{"?whose=unclaimed&page=2", "case-053", "case-102", 50, []string{"51 to 100 of 118"}},
		{"?cause=review_step&order=due", "case-001", "case-050", 50, nil},
		{"?cause=consent", "", "", 0, []string{"0 runs wait", "No run matches"}},
		{"?age=1h", "", "", 0, []string{"No run matches"}},
		{"?age=nonsense&workflow=x&cause=y&whose=z&order=w&page=-1", "case-001", "case-050", 50, nil},
	} {
		a := p.get("/queue" + row.query)
		wants(t, a, http.StatusOK, row.texts...)
		got := references(a.body)
		if len(got) != row.shown || row.shown > 0 && (got[0] != row.first || got[len(got)-1] != row.last) {
			t.Errorf("%q shows %q, want %d from %s to %s", row.query, got, row.shown, row.first, row.last)
		}
	}
	wants(t, p.get("/queue?search=case-006"), http.StatusOK, "ravi")
	if a := p.get("/queue?page=9"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/queue?page=3" {
		t.Errorf("a page after the last one = %d %s, want the last one", a.status, a.header.Get("Location"))
	}
	d.Advance(time.Hour)
	wants(t, p.get("/queue?age=1h"), http.StatusOK, "120 runs wait")
}

func TestTheDueTimeIsShownInWords(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.ReviewDueMinutes = 120
	d.begin(d.Apply(w), "case-1")
	for _, row := range []struct {
		after time.Duration
		texts []string
	}{
		{0, []string{"less than a minute ago", "due in 2 hours", "!overdue by"}},
		{95 * time.Minute, []string{"1 hour ago", "due soon: in 25 minutes", "badge warning"}},
		{2*time.Hour + 24*time.Hour, []string{"27 hours ago", "overdue by 25 hours", "badge bad", `Overdue <span class="count">1</span>`}},
		{48 * time.Hour, []string{"3 days ago", "overdue by 3 days"}},
	} {
		d.Advance(row.after)
		p := d.as(reviewer(verification.RoleViewer)) // the session before has ended
		wants(t, p.get("/queue"), http.StatusOK, row.texts...)
	}
}

func TestAnEmptyQueueSaysSo(t *testing.T) {
	d := serve(t)
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/queue"), http.StatusOK, "Nothing waits for a verdict", "0 runs wait")
}

// stream opens the live updates of the queue. It returns the status, the media type and
// the lines.
func (p *person) stream(ctx context.Context) (status int, mediaType string, lines <-chan string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.server.URL+"/console/queue/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	got, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { got.Body.Close() })
	read := make(chan string, 100)
	go func() {
		defer close(read)
		for s := bufio.NewScanner(got.Body); s.Scan(); {
			read <- s.Text()
		}
	}()
	return got.StatusCode, got.Header.Get("Content-Type"), read
}

func TestStreamsTellOfChangesAndAreBounded(t *testing.T) {
	d := serve(t)
	ids := d.fill(2)
	p := d.as(reviewer(verification.RoleReviewer))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, mediaType, lines := p.stream(ctx)
	if status != http.StatusOK || mediaType != "text/event-stream" {
		t.Fatalf("stream = %d %s", status, mediaType)
	}
	<-lines
	verdict := rules.GiveVerdict{Decision: rules.DecisionApprove}
	if _, err := d.Engine.GiveVerdict(ctx, reviewer("").Tenant, ids[0], verdict, ""); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(time.Minute)
	for line := ""; line != "event: changed"; {
		select {
		case line = <-lines:
		case <-timeout:
			t.Fatal("no event came after a change")
		}
	}
	colleague := func(n int) *person {
		who := reviewer(verification.RoleReviewer)
		who.Name, who.Identity = fmt.Sprintf("colleague %d", n), fmt.Sprintf("colleague-%d", n)
		return d.as(who)
	}
	for n := range 16 { // 64 of them, four of each person
		open := 4
		if n == 0 {
			open = 3 // beside the one above
		} else {
			p = colleague(n)
		}
		for range open {
			if status, _, _ := p.stream(ctx); status != http.StatusOK {
				t.Fatalf("a stream of person %d = %d, want 4 of each", n, status)
			}
		}
		if status, _, _ := p.stream(ctx); status != http.StatusServiceUnavailable {
			t.Fatalf("the 5th stream of person %d = %d, want 503", n, status)
		}
	}
	if status, _, _ := colleague(16).stream(ctx); status != http.StatusServiceUnavailable {
		t.Errorf("the 65th stream = %d, want 503", status)
	}
	stranger := reviewer(verification.RoleReviewer)
	stranger.Tenant = otherTenant
	if status, _, _ := d.as(stranger).stream(ctx); status != http.StatusOK {
		t.Errorf("a stream of another tenant = %d, want 200", status)
	}
	wants(t, p.get("/queue/events"), http.StatusBadRequest)
}

func TestTheQueueFollowsWithoutAReload(t *testing.T) {
	d := serve(t)
	d.fill(3)
	w := d.Apply(waiting("Late", "It came late."))
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Wait(`document.documentElement.dataset.follows === "events"`)
	browser.Eval[bool](tab, `window.stays = true; document.querySelectorAll("[data-row]")[1].focus(); true`)
	d.begin(w, "newcomer")
	tab.Wait(`document.body.innerText.includes("newcomer") && document.body.innerText.includes("4 runs wait")`)
	if !browser.Eval[bool](tab, `window.stays && document.activeElement.textContent === "case-002"`) {
		t.Error("the page was loaded again, or the focus has moved")
	}
}

func TestWithoutAStreamTheQueueIsReadAgain(t *testing.T) {
	d := serve(t)
	d.fill(3)
	w := d.Apply(waiting("Late", "It came late."))
	who := reviewer(verification.RoleReviewer)
	p := d.as(who)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 64 { // all of the tenant
		p.stream(ctx)
	}
	tab := d.tab(who, browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Wait(`document.documentElement.dataset.follows === "polls"`)
	browser.Eval[bool](tab, `window.stays = true`)
	for _, reference := range []string{"newcomer", "another"} { // the end of the stream is a reason to read once
		d.begin(w, reference)
		tab.Wait(fmt.Sprintf(`document.body.innerText.includes(%q) && window.stays`, reference))
	}
}

func TestAnEmptyPageOfTheQueueShowsTheLastOne(t *testing.T) {
	d := serve(t)
	ids := d.fill(51)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue?page=2")
	tab.Wait(`document.documentElement.dataset.follows === "events"`)
	d.GiveVerdict(ids[50], rules.DecisionApprove)
	tab.Wait(`location.search === "" && document.body.innerText.includes("case-050")`)
	if browser.Eval[bool](tab, `!document.querySelector("[data-stale]").hidden`) {
		t.Error("the page says that it is not up to date")
	}
}

func TestTheQueueIsWorkedWithTheKeyboard(t *testing.T) {
	d := serve(t)
	ids := d.fill(5)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	focus := func() string { return browser.Eval[string](tab, `document.activeElement.textContent`) }
	for _, row := range []struct{ key, want string }{
		{"j", "case-001"}, {"j", "case-002"}, {"j", "case-003"}, {"k", "case-002"}, {"k", "case-001"}, {"k", "case-001"},
	} {
		tab.Key(row.key)
		if got := focus(); got != row.want {
			t.Errorf("after %s the focus is on %q, want %s", row.key, got, row.want)
		}
	}
	tab.Key("/")
	if id := browser.Eval[string](tab, `document.activeElement.id`); id != "search" {
		t.Errorf("after / the focus is on %q, want search", id)
	}
	browser.Eval[bool](tab, `document.activeElement.value = "", true`)
	tab.Fill("#search", "jk?")
	if text := browser.Eval[string](tab, `document.activeElement.value`); text != "jk?" {
		t.Errorf("the search is %q, want what was typed", text)
	}
	browser.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Key("?")
	tab.See(".keys td")
	inspect(t, tab, "queue-keys")
	tab.Key("\x1b")
	tab.Wait(`!document.querySelector(".keys").open`)
	browser.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Key("j")
	tab.Key("\r")
	tab.See("#notes")
	if title := tab.Text(); !strings.Contains(title, "case-001") {
		t.Errorf("enter opened %.200s", title)
	}
	tabTo(tab, "#notes")
	tab.Key("By hand.")
	tabTo(tab, "button[value=approve]")
	tab.Key("\r")
	tab.See(".note.good")
	if text := tab.Text(); !strings.Contains(text, "was approved.") || !strings.Contains(text, "case-002") {
		t.Errorf("after the verdict the page is %.300s", text)
	}
	if got := d.Run(ids[0]); got.Decision != rules.DecisionApprove || got.Notes != "By hand." {
		t.Errorf("run = %q %q", got.Decision, got.Notes)
	}
}

// tabTo presses the tab key until an element has the focus.
func tabTo(tab *browser.Tab, selector string) {
	const enough = 80
	for range enough {
		if browser.Eval[bool](tab, `document.activeElement.matches("`+selector+`")`) {
			return
		}
		tab.Key("\t")
	}
	tab.Wait(`document.activeElement.matches("` + selector + `")`)
}

func TestTheQueueLooksRight(t *testing.T) {
	long := strings.Repeat("Very long name of a person ", 8)
	d, empty := serve(t), serve(t)
	d.begin(d.Apply(waiting("Überweisung an अंतरराष्ट्रीय खाता", "यह राशि सीमा से अधिक है।")), "आशा राव")
	d.begin(d.Apply(waiting("الحساب الجاري", "المبلغ أكبر من الحد المسموح به.")), "محمد بن عبد الله")
	d.begin(d.Apply(waiting("Long", strings.Repeat("A reason that goes on and on. ", 12))), strings.TrimSpace(long[:200]))
	late := waiting("Late", "The verdict is late.")
	late.ReviewDueMinutes = 30
	lateRun := d.begin(d.Apply(late), "late-1")
	d.Advance(time.Hour)
	late.ReviewDueMinutes = 70
	soon := d.Apply(late)
	d.begin(soon, "soon-1")
	d.Advance(55 * time.Minute)
	if _, err := d.Engine.Claim(t.Context(), reviewer("").Tenant, lateRun, engine.ClaimRequest{By: "ravi", Name: long[:200]}); err != nil {
		t.Fatal(err)
	}
	d.fill(300)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{})
	d.inspectAll(tab, "queue", "/queue", nil)
	d.inspectAll(tab, "queue-none", "/queue?search=nothing", nil)
	empty.inspectAll(empty.tab(reviewer(verification.RoleReviewer), browser.Options{}), "queue-empty", "/queue", nil)
	if text := d.as(reviewer(verification.RoleViewer)).get("/queue").body; !strings.Contains(text, fmt.Sprintf("%d runs wait", 305)) {
		t.Error("the queue does not count 305 runs")
	}
}

func TestAQueueThatIsNoLongerReadSaysSo(t *testing.T) {
	stopping := make(chan struct{})
	d := serveWith(t, func(o *console.Options) { o.Stopping = stopping })
	d.fill(2)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Wait(`document.documentElement.dataset.follows === "events" && document.querySelector("[data-stale]").hidden`)
	d.Advance(9 * time.Hour) // the session ends
	close(stopping)
	tab.See("[data-stale]")
}

// The list of the queue is sent once, and again if it changed before the stream was open.
func TestTheListIsSentOnceUnlessItHasChanged(t *testing.T) {
	d := serve(t)
	ids := d.fill(5)
	p := d.as(reviewer(verification.RoleReviewer))
	since := regexp.MustCompile(`data-events="/console(/queue/events\?since=[0-9a-f]{32})"`)
	for _, path := range []string{"/queue?page=2", "/queue?search=case", "/queue?order=due", "/queue?whose=assigned"} {
		if since.MatchString(p.get(path).body) {
			t.Errorf("%s names a state that is not its own", path)
		}
	}
	found := since.FindStringSubmatch(p.get("/queue").body)
	if found == nil {
		t.Fatal("the queue does not name its state")
	}
	events := func() <-chan string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/console"+found[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		got, err := p.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.Body.Close() })
		read := make(chan string, 10)
		go func() {
			for s := bufio.NewScanner(got.Body); s.Scan(); {
				read <- s.Text()
			}
		}()
		return read
	}
	same := events()
	<-same // that the stream is open
	<-same
	d.GiveVerdict(ids[0], rules.DecisionApprove)
	timeout := time.After(time.Minute)
	for name, lines := range map[string]<-chan string{"a stream from before": same, "one from after": events()} {
		for line := ""; line != "event: changed"; {
			select {
			case line = <-lines:
			case <-timeout:
				t.Fatalf("%s tells of no change", name)
			}
		}
	}

	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Wait(`document.documentElement.dataset.follows === "events"`)
	if n := browser.Eval[int](tab, `performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/queue")).length`); n != 0 {
		t.Errorf("the page reads its list %d times more", n)
	}
}

func TestPagesAreCompressed(t *testing.T) {
	d := serve(t)
	d.fill(50)
	p := d.as(reviewer(verification.RoleReviewer))
	plain := len(p.get("/queue").body)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/console/queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip") // so that the client does not decode it
	got, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	sent, err := io.ReadAll(got.Body)
	if err != nil || got.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(strings.Join(got.Header.Values("Vary"), ","), "Accept-Encoding") {
		t.Fatalf("the queue is sent as %v, %v", got.Header, err)
	}
	if len(sent) > 20_000 || len(sent)*3 > plain {
		t.Errorf("a queue of 50 runs has %d bytes, %d of them without compression", len(sent), plain)
	}
}
