// Package verification has what every part of verifyd speaks of: the ids of tenants, workflows and
// runs, recorded JSON ([Data]), errors with their kinds ([Error]), tenants, accounts and reviewers, and
// the ports to the outside world. Its packages do the rest:
//
//	verification           ids, data, errors, tenants, reviewers; the ports of providers and documents
//	verification/workflow  the language: definitions of workflows, their validation, programs
//	verification/rules     what may happen to a run: Decide, status, decision, review queue, report
//	verification/store     the ports of a store; storetest is their contract as a test suite
//	verification/facts     whom a run is about, and what its sources say
//	verification/engine    the use cases
//
// Each imports only those above it.
//
// Who writes a provider reads [Provider] first, then [CheckRequest] and [CheckResult]. A provider may
// also be a [Poller], a [CallbackReceiver], a [CallLimiter], a [Describer], a [Rescreener] or an [EarlierFinder].
//
// The packages below adapters implement the ports, see docs/writing-an-adapter.md. docs/glossary.md defines the terms.
package verification
