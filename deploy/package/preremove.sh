#!/bin/sh
# Runs before the files go: dpkg says "remove", or "upgrade" if another version follows; rpm says how many versions stay.
set -e

case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now assay.service
  fi
  ;;
esac
