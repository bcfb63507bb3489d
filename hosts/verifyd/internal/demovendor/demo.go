// Package demovendor has the vendor that the checks of the built-in demo call.
package demovendor

import (
	"bytes"
	"path"
	"path/filepath"

	"github.com/verifyd/verifyd/hosts/verifyd/demo"
	"github.com/verifyd/verifyd/verification"
)

// VendorAddr is the address of the vendor in the bootstrap file.
const VendorAddr = "127.0.0.1:9090"

// Tenant is the tenant in the bootstrap file, and ClientID its account.
const (
	Tenant   verification.TenantID = "0191f3c0-0000-7000-8000-00000000000a"
	ClientID string                = "demo"
)

// The secrets of the vendor in the bootstrap file.
const (
	TokenSecret = "REGISTRY_TOKEN"
	HookSecret  = "REGISTRY_HOOK"
)

// Read returns a file of the demo, in which the vendor has the address vendor.
func Read(name, vendor string) ([]byte, error) {
	raw, err := demo.Files.ReadFile(path.Clean(filepath.ToSlash(name)))
	return bytes.ReplaceAll(raw, []byte(VendorAddr), []byte(vendor)), err
}
