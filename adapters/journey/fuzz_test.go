// Fuzz tests: a post is answered with a page, a redirect or a refusal, whatever it
// contains.

package journey_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
)

func FuzzAnAnswerNeverBreaksThePage(f *testing.F) {
	s := serve(f)
	c := s.begin(onboarding(), "")
	onward(f, c.post("consent", "success"))
	wait := c.wait()
	f.Add("application/x-www-form-urlencoded", []byte("f.name=a&f.age=%zz&f.dob=1&f.unknown=1"))
	f.Add("application/x-www-form-urlencoded", []byte("do=opt_out&consent=x"))
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"f.front\"; filename=\"x\"\r\n\r\nx\r\n--b--"))
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"wait\"\r\n\r\n2\r\n--b--"))
	f.Add("multipart/form-data", []byte{0, 0xff})
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		if !strings.HasPrefix(media, "multipart") {
			body = append([]byte("wait="+wait+"&"), body...)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.link, bytes.NewReader(body))
		r.Header["Content-Type"] = []string{media}
		w := httptest.NewRecorder()
		s.server.Config.Handler.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusUnprocessableEntity:
			checkPage(t, w.Body.String())
		case http.StatusSeeOther, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("%s %q = %d %s", media, body, w.Code, w.Body)
		}
		if run, err := s.Engine.Run(t.Context(), enginetest.Tenant, c.run); err != nil || run.Action == nil {
			t.Skip("the fuzzer has completed the step")
		}
	})
}
