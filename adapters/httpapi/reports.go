// Printed reports, their signatures, and the keys that verify them.

package httpapi

import (
	"net/http"

	"github.com/verifyd/verifyd/verification"
)

func (a *api) printReport(w *response, r *http.Request, who caller) error {
	pdf, name, err := a.printed(r, who)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `inline; filename="`+name+`"`)
	writeBody(w, http.StatusOK, "application/pdf", pdf)
	return nil
}

// signReport answers with the signature of what printReport answers with.
func (a *api) signReport(w *response, r *http.Request, who caller) error {
	pdf, name, err := a.printed(r, who)
	if err != nil {
		return err
	}
	if a.opt.Signer == nil {
		return verification.Unavailable("report", "reports are not signed here")
	}
	signature, err := a.opt.Signer.SignReport(pdf)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.jws"`)
	writeBody(w, http.StatusOK, "application/jose", signature)
	return nil
}

// printed returns the printed report that a request is about, and the name of its file.
func (a *api) printed(r *http.Request, who caller) (pdf []byte, name string, err error) {
	id, _ := verification.ParseRunID(pathParam(r, "id")) // an invalid id has no run
	forFile, allowMissing, err := wantsFile(r.URL.RawQuery)
	if err != nil {
		return nil, "", err
	}
	if forFile {
		pdf, err = a.engine.PrintFile(r.Context(), who.tenant, id, allowMissing)
	} else {
		pdf, err = a.engine.PrintReport(r.Context(), who.tenant, id)
	}
	return pdf, "verification-" + string(id) + ".pdf", err
}

// reportKeys answers with the public keys. They may be cached for five minutes: a key
// should be in the set before it signs.
func (a *api) reportKeys(w http.ResponseWriter, r *http.Request) {
	res := responseOf(w)
	keys := []byte(`{"keys":[]}`)
	if a.opt.Signer != nil {
		var err error
		if keys, err = a.opt.Signer.ReportKeys(); err != nil {
			a.refuse(res, r, rule{}, err)
			return
		}
	}
	res.Header().Set("Cache-Control", "public, max-age=300")
	writeBody(res, http.StatusOK, "application/jwk-set+json", append(keys, '\n'))
}
