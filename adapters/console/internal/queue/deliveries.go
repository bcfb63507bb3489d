// Deliveries: the ledger of the lifecycle webhook, and sending a notice again.

package queue

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// deliveriesFilter is what a person chose on the deliveries page.
type deliveriesFilter struct {
	State rules.DeliveryState // empty for all
	Page  int                 // from 1
}

// readDeliveriesFilter reads a query or a form. ErrInvalid is returned for an
// unknown state.
func readDeliveriesFilter(q url.Values) (f deliveriesFilter, err error) {
	f.Page = shell.PageNumber(q)
	if state := q.Get("state"); state != "" {
		if f.State, err = rules.ParseDeliveryState(state); err != nil {
			return f, err
		}
	}
	return f, nil
}

// path returns the path of the page.
func (f deliveriesFilter) path() string {
	q := url.Values{}
	if f.State != "" {
		q.Set("state", string(f.State))
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	if len(q) == 0 {
		return "/deliveries"
	}
	return "/deliveries?" + q.Encode()
}

// deliveriesView is the data of the page deliveries.
type deliveriesView struct {
	Filter  deliveriesFilter
	States  []stateLink
	Entries []deliveryView
	Empty   web.Empty // in place of the entries
	Total   int
	Pager   *web.Pager // nil for one page
}

// stateLink is a state to filter by; empty is all.
type stateLink struct {
	Key     string // of the message "deliveries.state." and the key
	Path    string
	Current bool
}

type deliveryView struct {
	rules.Delivery
	Badge    web.Badge
	Result   string // of the last attempt
	Receiver string
	RunURL   string
}

// ShowDeliveries lists the deliveries of the tenant, the newest attempt first.
func (p *Pages) ShowDeliveries(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f, err := readDeliveriesFilter(r.URL.Query())
	if err != nil {
		return err
	}
	found, err := p.shell.Engine.Deliveries(r.Context(), s.Tenant, f.State, shell.PageQuery(f.Page))
	if err != nil {
		return err
	}
	if last, yes := shell.BeyondLastPage(r, s, found); yes {
		return shell.Redirect(w, last)
	}
	v := deliveriesView{Filter: f, Total: found.Total, Pager: shell.PagerOf(r, s, found)}
	v.Empty = web.Empty{Icon: "send", Title: s.Say("deliveries.empty.title"), Text: s.Say("deliveries.empty.text")}
	if text := s.Message("deliveries.empty." + string(f.State) + ".text"); text != "" {
		v.Empty.Text = text
	}
	for _, state := range []rules.DeliveryState{"", rules.DeliveryPending, rules.DeliveryFailed, rules.DeliveryDelivered} {
		link := stateLink{Key: string(state), Path: deliveriesFilter{State: state}.path(), Current: state == f.State}
		if state == "" {
			link.Key = "all"
		}
		v.States = append(v.States, link)
	}
	query := queryOfRunPages(r, s)
	for _, d := range found.Data {
		entry, err := deliveryOf(s, d)
		if err != nil {
			return err
		}
		entry.RunURL = s.Base + "/runs/" + string(d.Run) + query
		v.Entries = append(v.Entries, entry)
	}
	return p.shell.Render(w, s, http.StatusOK, "deliveries", "deliveries.title", v)
}

// deliveryOf returns the row of a delivery.
func deliveryOf(s shell.Session, d rules.Delivery) (deliveryView, error) {
	v := deliveryView{Delivery: d, Receiver: shell.ReceiverOf(d.URL), Result: s.Message("deliveries.class." + d.Class)}
	if v.Result == "" { // a class of another notifier
		v.Result = d.Class
	}
	v.Badge = map[rules.DeliveryState]web.Badge{
		rules.DeliveryPending:   {Tone: web.Info, Icon: "clock"},
		rules.DeliveryDelivered: {Tone: web.Good, Icon: "tick"},
		rules.DeliveryFailed:    {Tone: web.Bad, Icon: "stop"},
	}[d.State]
	var err error
	v.Badge.Text, err = s.T("deliveries.state." + string(d.State))
	return v, err
}

// Redeliver queues a notice of a run again.
func (p *Pages) Redeliver(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	id, err := verification.ParseRunID(chi.URLParam(r, "run"))
	if err != nil {
		return verification.NotFound("run")
	}
	f, err := readDeliveriesFilter(r.PostForm)
	if err != nil {
		return err
	}
	n := rules.NoticeRef{Run: id}
	if seq := r.PostForm.Get("seq"); seq != "" {
		if n, err = rules.ParseNoticeRef(string(id) + "_" + seq); err != nil {
			return err
		}
	}
	if err := p.shell.Engine.Redeliver(r.Context(), s.Tenant, n); err != nil {
		return err
	}
	s.Log.Info("notice sent again", "tenant", s.Tenant, "run", id, "notice", n.ID(), "by", s.Name, "identity", s.Identity)
	return p.shell.Done(w, f.path(), "done.redelivered")
}
