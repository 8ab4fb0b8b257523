import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type FileHandle, open, rm, stat, writeFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { ProcessId } from '@svc/process-lock';
import type { ShellCommand } from '../ops/shell.ts';
import { membersIn, processOf, syncPath } from '../records.ts';

/** Bytes of the output that are kept. One more is on disk where there is more. */
const mostOutputBytes = 10 * 2 ** 20;

/** The files of a command that outlives the daemon, beside its record. */
export interface ExecFiles {
  /** Standard output and error, in the order in which they came. */
  output: string;
  /** Its exit code, and marks: see `readEnd`. */
  end: string;
  /** Standard input. */
  input: string;
  /** Between the command and its output, while it runs. */
  pipe: string;
}

export const filesOf = (base: string): ExecFiles => ({
  output: `${base}.out`,
  end: `${base}.end`,
  input: `${base}.in`,
  pipe: `${base}.pipe`,
});

/** Room for what the shell writes later, on a disk that may be full by then: it writes over these bytes. */
const emptyEnd = '----------\n';

/**
 * Runs a command and writes down what becomes of it, with no daemon to help: a shell of a few hundred KiB, in the group of
 * the command. Without a word on descriptor 3 (the daemon died before the process was written down) it never starts.
 *
 * `collect` writes the output up to the limit and passes over the rest, so that the command is never held up. What the
 * command leaves in the background stays: where it holds the output open, `collect` is asked five times a second
 * whether it has all that the command wrote. It has when it waits for more (where the system does not show that: when
 * nothing came for 0.4 s), when a piece that it began after the first question is short, and after 1 MiB, which is more
 * than a pipe holds. Then it becomes a `cat` that reads on for the rest. Bytes 0 to 3 of the end file get the exit
 * code, byte 4 a `b` before the command begins, byte 5 a `t` when the time was over, byte 6 a `c` when output was lost,
 * bytes 7 to 9 how many processes the time ended. SIGTERM ends what the command started; the shells outlive it and
 * write down how it ended, and after a `t` all that is left of the group is killed.
 */
const gate = `out=$1 end=$2 in=$3 limit=$4 most=$5 pipe=$6
shift 6
read -r go <&3 || exit 125
exec 3<&-
note() { printf %s "$2" | dd of="$end" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
noted() { dd if="$end" bs=1 skip="$1" count=1 2>/dev/null; }
pass() {
  trap '' USR1
  kill -s USR2 $$
  exec cat <&4
}
empty() {
  if read -r line <"/proc/$piece/stat"; then
    set -- \${line##*) }
    [ "$1" = S ] || return 1
    place=
    read -r place <"/proc/$piece/wchan"
    case $place in *pipe*) return 0 ;; ''|0) ;; *) return 1 ;; esac
  elif [ -e /proc/self/stat ]; then
    return 1
  fi
  seen=$have/$piece
  [ "$seen" = "$last" ] && return 0
  last=$seen
  return 1
}
ask() {
  from=\${from:-$have}
  [ "$((have - from))" -lt 1048576 ] && ! empty && return
  kill -s KILL "$piece"
  pass
}
collect() {
  trap '' TERM INT HUP
  trap ask USR1
  exec 4<"$pipe"
  have=0 piece=0 from=
  while [ "$have" -lt "$most" ]; do
    size=$((most - have < 65536 ? most - have : 65536)) asked=$from
    dd bs="$size" count=1 <&4 >>"$out" &
    piece=$!
    until wait "$piece"; do
      kill -s 0 "$piece" 2>/dev/null && continue
      wait "$piece" && break
      note 6 c
      pass
    done
    now=$(($(wc -c <"$out")))
    [ "$now" -gt "$have" ] || return 0
    [ -n "$asked" ] && [ "$((now - have))" -lt "$size" ] && pass
    have=$now
  done
  pass
}
members() {
  read -r self rest </proc/self/stat
  count=0
  for file in /proc/[0-9]*/stat; do
    read -r line <"$file" || continue
    pid=\${line%% *}
    set -- \${line##*) }
    [ "$3" = $$ ] && [ "$1" != Z ] || continue
    case " $self $collector " in *" $pid "* | *" $2 "*) continue ;; esac
    [ "$pid" = $$ ] || count=$((count + 1))
  done
  [ "$count" = 0 ] || note 7 "$(printf %-3d $((count > 999 ? 999 : count)))"
}
late=
trap : TERM INT HUP
trap late=1 USR2
mkfifo -m 600 "$pipe" && note 4 b || exit 125
collect </dev/null >/dev/null 2>&1 &
collector=$!
(
  trap '' TERM INT HUP
  trap 'kill -s KILL $nap; exit' USR1
  sleep "$limit" &
  nap=$!
  wait "$nap"
  [ "$(noted 0)" = - ] || exit
  note 5 t
  members
  kill -s TERM 0
  sleep 2
  kill -s KILL 0
) </dev/null >/dev/null 2>&1 &
watcher=$!
"$@" >"$pipe" <"$in" 2>&1
note 0 "$(printf %-4d $?)"
rm -f "$pipe"
if [ "$(noted 5)" = t ]; then
  wait "$collector"
  kill -s KILL 0
fi
( while sleep 0.2; do kill -s USR1 "$collector" && kill -s HUP $$ || exit; done ) </dev/null >/dev/null 2>&1 &
clock=$!
while [ -z "$late" ] && kill -s 0 "$collector" 2>/dev/null; do wait "$collector"; done
kill -s KILL "$clock"
kill -s USR1 "$watcher"
exit 0`;

/**
 * Starts a command in a process group that outlives the daemon: once `written` has resolved for its leader, and never when that
 * rejects. Resolves when the leader is told to go on; the promise of the result resolves when it is gone.
 */
export async function startDetached(
  command: ShellCommand,
  files: ExecFiles,
  timeoutMs: number,
  written: (leader: ProcessId) => Promise<void>,
): Promise<{ leader: ProcessId; gone: Promise<void> }> {
  // One that was killed before it could remove its own is started anew.
  await rm(files.pipe, { force: true });
  await writeFile(files.output, '', { mode: 0o600 });
  await writeFile(files.end, emptyEnd, { mode: 0o600 });
  if (command.input) await writeFile(files.input, command.input, { mode: 0o600 });
  await Promise.all([syncPath(files.output), syncPath(files.end)]);
  const input = command.input ? files.input : '/dev/null';
  const own = [
    files.output,
    files.end,
    input,
    String(Math.ceil(timeoutMs / 1000)),
    String(mostOutputBytes + 1),
    files.pipe,
  ];
  const child = spawn('/bin/sh', ['-c', gate, 'svc-exec', ...own, command.file, ...command.args], {
    cwd: command.cwd,
    env: { ...command.env, PWD: command.cwd },
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const line = child.stdio[3] as Duplex;
  line.on('error', () => {});
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  if (child.pid === undefined) {
    const [error] = await once(child, 'error');
    throw error;
  }
  const leader = processOf(child.pid);
  try {
    await written(leader);
    line.write('go\n');
  } finally {
    // Without the word it ends by itself.
    line.end();
  }
  return { leader, gone };
}

/**
 * How many processes a command has, counted as when its time is over: without the shells of `gate`, whose command line is
 * that of their leader, and without what these started. Undefined where the system does not show processes.
 */
export function countCommands(leader: number): number | undefined {
  const members = membersIn(leader);
  const words = wordsOf(leader);
  const shells = new Set(members?.filter(({ pid }) => pid !== leader && wordsOf(pid) === words).map(({ pid }) => pid));
  return members?.filter(({ pid, parent }) => pid !== leader && !shells.has(pid) && !shells.has(parent)).length;
}

function wordsOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return undefined;
  }
}

/** What the shell wrote down. */
export interface ExecEnd {
  /** False: the command has not started, if this machine did not lose power since. */
  hasBegun: boolean;
  /** 128 + n when signal n ended the command; undefined when nobody wrote how it ended. */
  code: number | undefined;
  timedOut: boolean;
  /** How many processes ended with its time; undefined where the system does not show them. */
  endedProcesses: number | undefined;
  /** Output was lost, or is longer than what is kept. */
  truncated: boolean;
}

/** Reads how a command ended, once all of it is on disk. */
export async function readEnd(files: ExecFiles): Promise<ExecEnd> {
  const text = await open(files.end, 'r').then(readAndSync, () => '');
  const code = /^\d{1,3}/.exec(text)?.[0];
  const ended = text[5] === 't' ? Number(text.slice(7, 10).replaceAll('-', '')) : 0;
  const size = await open(files.output, 'r').then(sizeAndSync, () => 0);
  return {
    hasBegun: text[4] !== '-',
    code: code === undefined ? undefined : Number(code),
    timedOut: text[5] === 't',
    endedProcesses: ended > 0 ? ended : undefined,
    truncated: text[6] === 'c' || size > mostOutputBytes,
  };
}

async function readAndSync(handle: FileHandle): Promise<string> {
  await using file = handle;
  await file.sync();
  return file.readFile('utf8');
}

async function sizeAndSync(handle: FileHandle): Promise<number> {
  await using file = handle;
  await file.sync();
  return (await file.stat()).size;
}

const pieceBytes = 256 * 1024;

/** Bytes of an output from `at` on that are kept; empty when there are no more for now. */
export async function readOutput({ output }: ExecFiles, at: number): Promise<Buffer> {
  const { size } = await stat(output).catch(() => ({ size: 0 }));
  const length = Math.min(size, mostOutputBytes) - at;
  if (length <= 0) return Buffer.alloc(0);
  await using file = await open(output, 'r');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, pieceBytes)), 0, undefined, at);
  return buffer.subarray(0, bytesRead);
}

export async function removeFiles(files: ExecFiles): Promise<void> {
  await Promise.all(Object.values(files).map((path: string) => rm(path, { force: true })));
}
