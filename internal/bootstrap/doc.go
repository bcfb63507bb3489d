// Package bootstrap applies a bootstrap file to a store: tenants, accounts and
// workflows become as the file says. What is so already is not written again.
package bootstrap
