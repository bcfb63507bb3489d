// Package scenario holds a host to the contract of the API by conversations:
// txtar files that open with prose, quote the sentences they hold, and then
// list requests with the answers that are wanted. The same conversations run
// against every store.
//
// # The files
//
// The comment of the archive is the prose. Its files are the steps in their
// order; the name of a step says what happens in it. A step is made of lines
// like these:
//
//	POST /v1/workflows/{onboarding}/runs      a request: method and path
//	Prefer: wait=10                           its headers, if any
//	{"reference_id": "customer-1"}            its body, if any
//	--- 202                                   the status that is wanted
//	Preference-Applied: wait=10               headers that are wanted, if any
//	{"id": "<uuid run>", "...": ""}           the body that is wanted, if any
//
//	advance 31m                               turns the clock
//	webhook /hooks {"type": "run.completed", "...": ""}
//	no webhook                                nothing more was told
//
// A request is sent with the client-id and x-api-key of Acme, and its body as
// application/json, unless it says otherwise; a header with nothing behind its
// colon is left out.
//
// A body that is wanted is compared as JSON: the order of fields counts for
// nothing, and there may be no others. Some strings stand for more:
//
//	"<any>"  "<string>"  "<number>"  "<uuid>"  "<timestamp>"  "<url>"  "<hash>"
//	"<uuid run>"       and what was there is called {run} from now on
//	"<later ended>"    a timestamp after the one that is called {ended}
//	"...": ""          there may be more fields; as the last of an array: more elements
//	/^no open signal/  a string that matches the expression
//
// A name in braces stands for its value in paths, headers and bodies, in what
// is sent and in what is wanted; {x*300} is x three hundred times.
//
// # What is checked besides
//
// Every answer is held to the OpenAPI document, and after every step the runs
// of the tenant are read in all ways there are and compared: see
// [Client.Consistent].
package scenario
