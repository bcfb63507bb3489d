// Package bootstrap applies the tenants, accounts and workflows of a bootstrap file
// to a store. Entries that are already up to date are not written.
package bootstrap
