// The time zones of tenants.

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
)

const (
	// maxZones bounds the zones that are kept in memory.
	maxZones = 10_000
	// maxLocations bounds the time zones that are kept in memory: there are about 600.
	maxLocations = 1000
	// maxZoneAge is how long a start may use the zone that its tenant had before.
	maxZoneAge = time.Minute
)

// tenantZone is the name of a zone and the time at which it was read.
type tenantZone struct {
	name string
	read time.Time
}

func newZones() *lru.Cache[verification.TenantID, tenantZone] {
	return lru.New[verification.TenantID](maxZones, 1, func(tenantZone) int { return 1 })
}

// zone returns the time zone of a tenant, which is empty for UTC. It is at most maxZoneAge old, so that most
// starts do not read the tenant. An unknown tenant is in UTC.
func (e *Engine) zone(ctx context.Context, t verification.TenantID) (string, error) {
	if z, ok := e.zones.Get(t); ok && e.now().Sub(z.read) < maxZoneAge {
		return z.name, nil
	}
	tenant, err := e.tenantOfStart(ctx, t)
	if errors.Is(err, verification.ErrNotFound) {
		return "", nil
	}
	return tenant.Zone, err
}

// tenantOfStart reads the tenant of a start, and keeps its zone.
func (e *Engine) tenantOfStart(ctx context.Context, t verification.TenantID) (verification.Tenant, error) {
	now := e.now()
	tenant, err := e.store.Tenant(ctx, t)
	if err == nil {
		e.zones.Put(t, tenantZone{name: tenant.Zone, read: now})
	}
	return tenant, err
}

// location returns a time zone by its name. A zone that this host does not have is logged
// and counts as UTC.
func (e *Engine) location(name string) *time.Location {
	if zone, ok := e.locations.Get(name); ok {
		return zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		e.log.Error("time zone not found: days are in UTC", "zone", name, "error", err)
		zone = time.UTC
	}
	e.locations.Put(name, zone)
	return zone
}
