// Where the end user is sent once a run is over.

package verification

import "net/url"

// RedirectTarget is uri with run_id and status appended to its query; what the
// query held before stays as it was. An empty uri stays empty.
func RedirectTarget(uri string, id RunID, s Status) string {
	u, err := url.Parse(uri)
	if uri == "" || err != nil {
		return ""
	}
	added := url.Values{"run_id": {string(id)}, "status": {string(s)}}.Encode()
	if u.RawQuery == "" {
		u.RawQuery = added
	} else {
		u.RawQuery += "&" + added
	}
	u.ForceQuery = false
	return u.String()
}
