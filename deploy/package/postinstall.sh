#!/bin/sh
# Runs after the files are there. dpkg says "configure" and the version that was there before, if any; rpm says how many
# versions are installed now.
set -e

getent passwd assay >/dev/null ||
  useradd --system --user-group --home-dir /var/lib/assay --no-create-home --shell /usr/sbin/nologin assay
[ -d /var/lib/assay ] || install -d -o assay -g assay -m 0750 /var/lib/assay

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart assay.service
fi

case "$1:$2" in
configure: | 1:*)
  echo 'Assay is installed, but does not run yet. Create its database, then start it:'
  echo '  sudo -u assay assay init --dir /var/lib/assay'
  echo '  sudo systemctl enable --now assay'
  ;;
esac
