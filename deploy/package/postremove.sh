#!/bin/sh
# Runs after the files are gone. No one gets the database and the signing key back, so they are never deleted here, not
# even by a purge; nor is the user that owns them.
set -e

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi

case "$1" in
purge | 0)
  rmdir /etc/assay 2>/dev/null || true
  if rmdir /var/lib/assay 2>/dev/null; then
    userdel assay
  elif [ -d /var/lib/assay ]; then
    echo 'Your data is still in /var/lib/assay, and belongs to the user assay. To delete both for good:'
    echo '  rm -r /var/lib/assay && userdel assay'
  fi
  ;;
esac
