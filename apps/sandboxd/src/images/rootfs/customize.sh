#!/bin/sh
# What makes a Debian tree the root file system of a sandbox. mmdebstrap runs it as its hooks:
#   customize.sh <root> copy <root file system>: before anything is there, for an image that adds to another one
#   customize.sh <root> whole <template> <newest mtime, seconds> <directory with node_modules> <line of a pip requirements file>
#   customize.sh <root> added <template> <newest mtime, seconds> <package> ...
set -eu
root=$1 what=$2
here=$(dirname "$0")
step() { echo "svc-step: $*" >&2; }
# What runs inside sees nothing of this machine's environment; only pip learns which index the machine uses.
inside() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$root" "$@"; }

if [ "$what" = copy ]; then
  step 'copying what it adds to'
  # Devices, and how a name is found while packages are fetched, are those that mmdebstrap has made.
  tar -C "$3" --numeric-owner --xattrs --exclude=./dev --exclude=./etc/resolv.conf -cf - . |
    tar -C "$root" --numeric-owner --xattrs --xattrs-include='*' -xpf -
  exit
fi
template=$3 epoch=$4
shift 4
# What is newer was not in the image that this one adds to.
begun=$root/var/lib/svc-begun
: > "$begun"

if [ "$what" = added ]; then
  step 'fetching packages'
  inside env DEBIAN_FRONTEND=noninteractive SOURCE_DATE_EPOCH="$epoch" apt-get install --yes -o Dpkg::Use-Pty=false "$@" >&2
  step 'finishing the file system'
else
  step 'finishing the file system'
  node=$1 pptx=$2
  touch -d @0 "$begun"

  step 'Node and npm'
  modules="$root/usr/local/lib/node_modules"
  mkdir -p "$modules"
  cp -R --no-preserve=ownership "$node/node_modules/." "$modules/"
  install -m 0755 "$modules"/node-linux-*/bin/node "$root/usr/local/bin/node"
  rm -rf "$modules"/node-linux-* "$modules/.bin" "$modules/.package-lock.json"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chmod 0755 "$modules"/npm/bin/*.js
  # `prefix` in npm's own file: `npm install -g` of the user lands on the volume of the workspace.
  printf '%s\n' 'prefix=/home/user/.local' 'update-notifier=false' 'fund=false' 'audit=false' > "$modules/npm/npmrc"
  # The agent sets NODE_PATH for require(), and imports.cjs for import. No link at the root: npm would take that for the
  # directory of a package, and install there what a workspace without package.json asks for.
  ln -s /usr/bin/python3 "$root/usr/local/bin/python"

  step 'python-pptx'
  # Not in Debian. Where the index cannot be reached the image goes without; PowerPoint files are written by pptxgenjs.
  echo "$pptx" > "$root/tmp/pin.txt"
  timeout -k 3 60 env ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} PIP_CONFIG_FILE=/dev/null chroot "$root" \
    python3 -m pip install --break-system-packages --no-deps --require-hashes --no-compile --retries 0 --timeout 15 \
    -r /tmp/pin.txt </dev/null >&2 || step 'python-pptx left out: the Python index cannot be reached'
fi

if [ "$template" = desktop ]; then
  step 'noVNC'
  # Its package depends on Debian's nodejs (100 MB more) for a proxy that nothing uses: only its files.
  (cd "$root/tmp" && inside sh -c 'cd /tmp && apt-get download -q novnc' >&2 && dpkg-deb -x novnc_*.deb novnc)
  mkdir -p "$root/usr/share/novnc"
  cp -R "$root/tmp/novnc/usr/share/novnc/." "$root/usr/share/novnc/"
fi

step 'files of the image'
for layer in base "$template"; do
  [ -d "$here/$layer" ] || continue
  (cd "$here/$layer" && find . -type f) | while read -r file; do
    mode=0644
    case $file in
      ./usr/local/bin/*) mode=0755 ;;
      ./opt/svc/skills/*.md) ;;
      ./opt/svc/skills/*) mode=0755 ;;
    esac
    rm -f "$root/$file"
    install -D -m $mode "$here/$layer/$file" "$root/$file"
  done
done
if [ "$what" = whole ]; then
  inside env SOURCE_DATE_EPOCH="$epoch" useradd --uid 1000 --user-group --no-create-home --home-dir /home/user --shell /bin/bash user
  mkdir -p "$root/workspace" "$root/home/user"
  chown 1000:1000 "$root/workspace" "$root/home/user"
fi

step 'clean up'
rm -rf "$root"/tmp/pin.txt "$root"/tmp/novnc* "$root"/root/.cache "$root"/root/.npm "$root"/var/log/* "$root"/var/cache/ldconfig/*
# The mirror is this machine's business.
rm -f "$root"/etc/apt/apt.conf.d/99mmdebstrap "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/machine-id "$root"/etc/*- "$root"/var/lib/dpkg/*-old
: > "$root/etc/machine-id"
# Nothing inside may gain rights over the user that runs it.
find "$root" -xdev -type f -perm /6000 -exec chmod ug-s {} +

step 'font caches'
# fontconfig believes its cache while the directory keeps its mtime, and the tar clamps what is newer than the epoch.
find "$root/usr/share/fonts" "$root/usr/local/share/fonts" -newermt "@$epoch" -exec touch -h -d "@$epoch" {} + 2>/dev/null || true
inside fc-cache -f -s
rm -rf "$root/etc/skel/.cache/matplotlib"
# HOME starts empty: who sets it up copies /etc/skel, and the first plot takes 0.4 s less. The list is written in the order
# of a set of names: with a seed of its own each build would differ.
inside env PYTHONHASHSEED=0 MPLCONFIGDIR=/etc/skel/.cache/matplotlib python3 -c 'import matplotlib.font_manager'
mkdir -p "$root/etc/skel/.config/matplotlib"

step 'Python byte code'
# Unchecked: nothing inside changes these sources, an import reads one file less, and the bytes depend on no mtime.
(cd "$root" && find usr/lib/python3 usr/lib/python3.13 usr/local/lib/python3.13 -name '*.py' -cnewer "$begun" -printf '/%p\n' | sort) |
  inside env PYTHONHASHSEED=0 sh -c 'xargs -P "$(nproc)" -n 400 python3 -m compileall -q -f --invalidation-mode unchecked-hash' >/dev/null 2>&1 || true
rm "$begun"
