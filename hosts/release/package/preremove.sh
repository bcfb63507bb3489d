#!/bin/sh
# Stops the service when the package goes: $1 is remove in Debian, 0 in Red Hat.
set -e
case "$1" in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now verifyd.service
	fi
	;;
esac
