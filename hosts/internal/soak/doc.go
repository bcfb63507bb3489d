// Package soak holds the crash tests: several hosts as real processes on one
// PostgreSQL, under load, while hosts are killed, the database crashes and restarts,
// and the network between them is cut and slowed. One host has another bootstrap file.
// Afterwards nothing that was accepted may be lost, stuck or changed: no flag of a loop is
// missing, and no run that was live when its webhook was set ended without a notice. The
// same holds for one host on a data folder, which is killed again and again. A loop of crashes
// ends no run but the one that causes it.
//
// `go test` runs a short version. VERIFYD_SOAK=10m sets how long failures are caused,
// VERIFYD_SOAK_KILLS=200 how often the host on a folder is killed, VERIFYD_SOAK_SEED repeats
// one, and VERIFYD_SOAK_LOGS=DIR keeps the logs of the hosts.
package soak
