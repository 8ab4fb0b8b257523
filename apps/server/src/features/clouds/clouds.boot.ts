import { hostProgram } from '../hosts/index.ts';
import type { BootNode } from './clouds.node.ts';

/** What a machine needs to become the machine of an environment. */
interface Boot {
  /** Where it reaches the gateway. */
  baseUrl: string;
  token: string;
  /** SHA-256 of the daemon's program, in hex. */
  sha256: string;
  /** For a distribution without Node.js 20. */
  node: BootNode;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/**
 * The shell script that a machine runs once, at its first boot: Node.js, the daemon by its hash, enrolment by a token that is good
 * for one machine, and a service of systemd. It ends with its own text.
 */
export const bootScript = ({ baseUrl, token, sha256, node }: Boot): string => `#!/bin/sh
# svc: makes this machine the machine of an environment. It runs once, at the first boot.
set -eu
umask 077
url=${quoted(baseUrl.replace(/\/+$/, ''))}
token=${quoted(token)}
program_sum=${quoted(sha256)}
node_machine=${quoted(node.machine)}
node_path=${quoted(node.path)}
node_sum=${quoted(node.sha256)}
${bootSteps}`;

const bootSteps = String.raw`
folder=/opt/svc
state=/var/lib/svc-host
unit=/etc/systemd/system/svc-host.service

say() { echo "svc: $*" >&2; }
die() { say "$*"; exit 1; }

# get PATH FILE SUM: a file of the gateway, by its hash. The network of a young machine may not be there yet.
get() {
  tries=0
  while [ "$tries" -lt 30 ]; do
    if curl -fsSL --connect-timeout 10 --max-time 600 -o "$2" "$url$1" 2>/dev/null ||
      wget -q -T 60 -O "$2" "$url$1" 2>/dev/null; then
      if echo "$3  $2" | sha256sum -c - >/dev/null 2>&1; then return 0; fi
      say "$url$1 has another hash than it should have"
    fi
    tries=$((tries + 1))
    sleep 5
  done
  rm -f "$2"
  return 1
}

# Whether the machine has Node.js 20 or newer.
has_node() {
  command -v node >/dev/null 2>&1 &&
    [ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20' 2>/dev/null)" = true ]
}

# Of the machine's own distribution.
add() {
  if command -v apt-get >/dev/null 2>&1; then
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
  elif command -v dnf >/dev/null 2>&1; then dnf install -y -q "$@"
  elif command -v zypper >/dev/null 2>&1; then zypper -n -q install "$@"
  elif command -v apk >/dev/null 2>&1; then apk add -q "$@"
  else return 1
  fi
}

mkdir -p "$folder" "$state"
chmod 755 "$folder"
command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1 || add curl ca-certificates >/dev/null 2>&1 || true
command -v git >/dev/null 2>&1 || add git >/dev/null 2>&1 || say 'no git was installed'
has_node || add nodejs >/dev/null 2>&1 || true
if has_node; then node=$(command -v node)
elif [ "$(uname -m)" = "$node_machine" ]; then
  node=$folder/node
  get "$node_path" "$node" "$node_sum" || die 'Node.js could not be fetched'
  chmod 755 "$node"
else die "the distribution has no Node.js 20 or newer, and the gateway none for $(uname -m)"
fi
get /install/host.mjs "$folder/host.mjs" "$program_sum" || die 'the daemon could not be fetched'
chmod 755 "$folder/host.mjs"
"$node" "$folder/host.mjs" enroll "$token" --url "$url" --state-dir "$state" --out "$state/host.key"

# Members work as Linux users of their own, and reach what listens here: nobody else set this machine up.
[ -e "$state/host.json" ] || echo '{"ops":{"shell":"allow"},"ports":"loopback","users":true}' >"$state/host.json"

cat >"$unit" <<UNIT
[Unit]
Description=svc: serves the environment of this machine
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=$node $folder/host.mjs run --url $url --state-dir $state --key-file $state/host.key
WorkingDirectory=/root
Environment=HOME=/root
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
UNIT
chmod 644 "$unit"
systemctl daemon-reload
systemctl enable --now svc-host.service

# The token is used up; what cloud-init keeps of this script goes too.
rm -f /var/lib/cloud/instance/user-data.txt* /var/lib/cloud/instance/scripts/part-001
say 'this machine serves its environment'
`;

/** The hash of the daemon's program, as the gateway serves it. */
export const programSum = async (): Promise<string> => (await hostProgram.built()).sha256;
