// Package facts says whom a run is about: the subject, what each source says of it and where they
// differ, what the checks were asked, and the words by which the run is found. Its tests are beside the
// rules of runs.
package facts
