// The vendor's bank: a page on which a customer says whether the bank may tell who holds the account.

package demovendor

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// The paths of the bank.
const (
	signIns    = "/v1/sign-ins"
	signInPage = "/sign-in/"
)

// maxDecided is how many decisions the bank remembers.
const maxDecided = 10_000

// bank remembers what customers decided, by the id of the sign-in. The id has all else, so that a sign-in goes on after a restart.
type bank struct {
	mu      sync.Mutex
	decided map[string]signInState
}

// signIn is what the bank is asked.
type signIn struct {
	Name     string `json:"name"`
	ReturnTo string `json:"return_to"`
}

func (s signIn) id() string {
	raw, _ := json.Marshal(s) // strings only
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseSignIn(id string) (s signIn, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(id)
	return s, err == nil && json.Unmarshal(raw, &s) == nil && s.Name != "" && s.ReturnTo != ""
}

type signInState string

const (
	signInOpen    signInState = "open"
	signInShared  signInState = "shared"
	signInRefused signInState = "refused"
)

// account is what the bank says about a sign-in.
type account struct {
	ID      string      `json:"id"`
	State   signInState `json:"state"`
	URL     string      `json:"url,omitempty"`    // of the page, while the sign-in is open
	Holder  string      `json:"holder,omitempty"` // once the customer has shared it
	Account string      `json:"account,omitempty"`
}

func (b *bank) state(id string) signInState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state, ok := b.decided[id]; ok {
		return state
	}
	return signInOpen
}

// decide records what the customer pressed first. A bank that knows too much forgets it all.
func (b *bank) decide(id string, state signInState) signInState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, ok := b.decided[id]; ok {
		return before
	}
	if len(b.decided) >= maxDecided || b.decided == nil {
		b.decided = map[string]signInState{}
	}
	b.decided[id] = state
	return state
}

// serve responds to POST /v1/sign-ins with a new sign-in, and to GET /v1/sign-ins/ID with one.
func (b *bank) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	id := strings.TrimPrefix(r.URL.Path, signIns+"/")
	if r.Method == http.MethodPost {
		var s signIn
		_ = json.Unmarshal(body, &s) // an empty one is refused below
		id = s.id()
	}
	s, ok := parseSignIn(id)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a := account{ID: id, State: b.state(id)}
	switch a.State {
	case signInOpen:
		a.URL = "http://" + r.Host + signInPage + id
	case signInShared:
		a.Holder, a.Account = registered(s.Name), "XXXX XXXX 4711"
	case signInRefused:
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // the peer may have gone away
}

//go:embed bank.html
var bankPage string

// page serves the page of a sign-in, and sends the customer back.
func (b *bank) page(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, signInPage)
	s, ok := parseSignIn(id)
	to, err := url.Parse(s.ReturnTo)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	if r.Method != http.MethodPost {
		h.Set("Content-Type", "text/html; charset=utf-8")
		_ = template.Must(template.New("bank").Parse(bankPage)).Execute(w, s) // the peer may have gone away
		return
	}
	state := signInRefused
	if r.PostFormValue("do") == "share" {
		state = signInShared
	}
	q := to.Query()
	if b.decide(id, state) == signInShared {
		q.Set("result", "shared")
	} else {
		q.Set("error", "access_denied")
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}
