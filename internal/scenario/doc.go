// Package scenario holds the API to its contract by conversations: txtar files
// that open with prose, quote the sentence they hold, and then list requests
// with the answers that are wanted. The same conversations run against every
// store.
//
// # The files
//
// The comment of the archive is the prose. Its files are the steps, in their
// order, and the name of each says what happens there. A step is made of lines:
//
//	POST /v1/workflows/{onboarding}/runs      a request: method and path
//	content-type: application/json            its headers, if any
//	{"reference_id": "customer-1"}            its body, up to the answer
//	--- 202                                   the status that is wanted
//	X-Request-Id: <any>                       headers that are wanted
//	{"id": "<uuid run>", "status": "in_progress", ...}
//
//	advance 31m                               the clock is turned
//
// A step may hold several requests. The body that is wanted is compared as
// JSON, but for the order of fields, which counts for nothing. In it:
//
//	"<any>"          anything but null
//	"<string>"       a string that is not empty
//	"<uuid>"         a lower-case UUID
//	"<timestamp>"    a time in whole seconds, UTC
//	"<url>"          an absolute URL
//	"<uuid run>"     a UUID that is called {run} from here on
//	"...": "<any>"   more fields may be there, which else may not
//
// A name in braces stands for its value in paths, headers and bodies, sent and
// wanted. Hosts give the first names; conversations catch more.
package scenario
