// Posts of a form with many large files.

package noisy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/verification"
)

// uploadAll posts forms with files of the maximum size and with an error in another
// field, so that each form stays open and can be posted again.
func uploadAll(ctx context.Context, s *site) {
	const connections = 4
	var forms [connections]form
	for n := range forms {
		var err error
		if forms[n], err = s.openForm(ctx, n); err != nil {
			s.attacker.count(ctx, err)
			return
		}
	}
	s.flood(ctx, connections, s.scale.Posts, s.scale.Beside, func(ctx context.Context, n int) error {
		return s.post(ctx, forms[n%connections])
	})
	// Only the last file of each field is kept.
	s.attacker.kept.Store(connections * fileFields * verification.MaxDocumentBytes)
}

// form is a page that asks for a file, with what a browser sends back unseen.
type form struct {
	link   string
	hidden map[string]string
}

// openForm starts a run and opens its link.
func (s *site) openForm(ctx context.Context, n int) (form, error) {
	r, err := start(ctx, s.attacker.client(n), idOf(attackerTenant, upload), "{}", 20*time.Second)
	if err != nil || r.ActionRequired == nil {
		return form{}, errors.Join(err, errors.New("no link to a form"))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.ActionRequired.URL, http.NoBody)
	if err != nil {
		return form{}, err
	}
	page, err := visit(request, http.StatusOK)
	f := form{link: r.ActionRequired.URL, hidden: map[string]string{}}
	for _, found := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllSubmatch(page, -1) {
		f.hidden[string(found[1])] = string(found[2])
	}
	return f, err
}

// post sends a form with several files in each field, without holding them in memory.
func (s *site) post(ctx context.Context, f form) error {
	const begin, end = "%PDF-1.4\n%", "\n%%EOF\n"
	filling := int64(verification.MaxDocumentBytes - len(begin) - len(end))
	var body []io.Reader
	var length int64
	add := func(b []byte) {
		body = append(body, bytes.NewReader(bytes.Clone(b)))
		length += int64(len(b))
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range f.hidden {
		if err := w.WriteField(name, value); err != nil {
			return err
		}
	}
	for n := range s.scale.FilesOfAPost {
		if _, err := w.CreateFormFile("f."+fileField(n), fmt.Sprintf("statement-%d.pdf", n)); err != nil {
			return err
		}
		b.WriteString(begin)
		add(b.Bytes())
		b.Reset()
		body = append(body, io.LimitReader(zeros{}, filling))
		length += filling
		b.WriteString(end)
	}
	if err := w.Close(); err != nil {
		return err
	}
	add(b.Bytes())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.link, io.MultiReader(body...))
	if err != nil {
		return err
	}
	r.ContentLength = length
	r.Header.Set("Content-Type", w.FormDataContentType())
	_, err = visit(r, http.StatusUnprocessableEntity) // an error in another field
	return err
}

// visit sends a request for a page as a browser does, and returns the page if it has the status.
func visit(r *http.Request, status int) ([]byte, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = &client.Error{Operation: "visit", Status: response.StatusCode}
	}
	return page, err
}

// zeros is the content of the files.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
