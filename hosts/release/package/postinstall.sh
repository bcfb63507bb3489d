#!/bin/sh
# Makes the user. The service is started by the administrator, after the settings.
set -e
systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} verifyd.conf
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart verifyd.service # after an upgrade
fi
