// Package scenario tests the contract of the API with conversations: txtar files
// that start with text, quote the sentences of the contract that they test, and list
// requests with the wanted responses. The same conversations run against every
// store, and against a host that restarts before each of them and before the reads that compare all
// views of the runs.
//
// # The files
//
// The comment of the archive is the text. Its files are the steps in order; the name
// of a step says what happens in it. A step has lines like these:
//
//	POST /v1/workflows/{onboarding}/runs      a request: method and path
//	Prefer: wait=10                           its headers, if any
//	{"reference_id": "customer-1"}            its body, if any
//	--- 202                                   the wanted status
//	Preference-Applied: wait=10               wanted headers, if any
//	{"id": "<uuid run>", "...": ""}           the wanted body, if any
//
//	advance 31m                               advances the clock
//	decide {run} e-1 other Asha               Asha decides the hit of the entry e-1 in the console
//	webhook /hooks {"type": "run.completed", "...": ""}
//	                                          the next webhook: its path and wanted body
//	no webhook                                no further webhook arrived
//
// By default, a request has the client-id and x-api-key of Acme and a body of type
// application/json. A header with no value is not sent.
//
// A wanted body is compared as JSON: the order of fields does not matter, and other
// fields are not allowed. A wanted body that is not JSON is compared as text; <pdf> is any PDF.
// Some strings have a special meaning:
//
//	"<any>"  "<string>"  "<number>"  "<uuid>"  "<timestamp>"  "<url>"  "<hash>"
//	"<uuid run>"       a UUID, which is called {run} from now on; so with the other kinds
//	"<later ended>"    a timestamp after {ended}
//	"...": ""          other fields are allowed; at the end of an array: more elements
//	/^no open signal/  a string that matches the regular expression
//
// A name in braces is replaced by its value in paths, headers and bodies, both sent
// and wanted; {x*300} is x three hundred times.
//
// # Other checks
//
// Every response is checked against the OpenAPI document. After every step the runs
// of Acme are read in every way and compared: see [Client.Consistent].
package scenario
