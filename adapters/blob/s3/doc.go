// Package s3 keeps what customers upload in a bucket of an object store that
// speaks S3.
//
// A document is one object, at <prefix>/<tenant>/<run>/<document>/content; what
// is known of it travels with it as user metadata, so there is never the one
// without the other. What is uploaded is looked at as package blob does, on its
// way into a file that is gone afterwards: only what has passed is sent, in one
// request that carries its SHA-256.
//
// That an id is taken once is decided by the object store, which must honour
// If-None-Match when it is written to. The keys it is used with must be allowed
// to read, to write, to delete and to list: without the last, AWS answers access
// denied where there is nothing.
package s3
