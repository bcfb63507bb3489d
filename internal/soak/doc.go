// Package soak holds the crash tests: several hosts as real processes on one
// PostgreSQL, under load, while hosts are killed, the database dies and comes
// back, and the network between them is cut and slowed. Afterwards nothing that
// was accepted may be lost, stuck or changed.
//
// `go test` runs a short version. VERIFYD_SOAK=10m makes the storm last as long,
// VERIFYD_SOAK_SEED repeats one, VERIFYD_SOAK_LOGS=DIR keeps what the hosts log.
package soak
