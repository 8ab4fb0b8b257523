import type { ImageStatus } from '@svc/sandboxd-api';

/** How far a build is. */
export interface Progress {
  /** 0 to 1, never falling. */
  progress: number;
  step: string;
}

/** Share of the time that is over when a line of mmdebstrap shows up; measured with svc-base, 116 s on two cores. */
const milestones: readonly [prefix: string, progress: number, step: string][] = [
  ['I: running apt-get update', 0.03, 'reading the package lists'],
  ['I: downloading packages', 0.05, 'fetching the essential packages'],
  ['I: extracting archives', 0.1, 'unpacking the essential packages'],
  ['I: installing essential', 0.12, 'installing the essential packages'],
  ['I: installing remaining', 0.2, 'fetching packages'],
  ['svc-step: fetching packages', 0.2, 'fetching packages'],
  ['svc-step: finishing the file system', 0.75, 'finishing the file system'],
  ['I: cleaning package lists', 0.9, 'cleaning up'],
  ['I: creating tarball', 0.92, 'storing the image'],
];
const from = 0.2;
const to = 0.75;
/** Steps that `customize.sh` tells. */
const customSteps = 8;

/** Reads mmdebstrap's output (`--verbose`) line by line and tells what it means, when it means something new. */
export function createProgressReader(): (line: string) => Progress | undefined {
  let progress = 0.02;
  let packages = 0;
  let done = 0;
  let installing = false;
  return (line) => {
    const at = (next: number, step: string): Progress => {
      progress = Math.max(progress, Math.min(next, 1));
      return { progress, step };
    };
    const milestone = milestones.find(([prefix]) => line.startsWith(prefix));
    if (milestone) {
      installing = milestone[1] === from;
      return at(milestone[1], milestone[2]);
    }
    if (line.startsWith('svc-step: ')) return at(progress + (0.9 - to) / customSteps, line.slice('svc-step: '.length));
    if (!installing) return undefined;
    const count = /^\d+ upgraded, (\d+) newly installed/.exec(line)?.[1];
    if (count !== undefined) packages = Number(count);
    const match = /^(?:Get:\d+ \S+ \S+ \S+ (\S+)|(Unpacking|Setting up) (\S+))/.exec(line);
    if (!match || packages === 0) return undefined;
    done += 1;
    const [, fetched, verb, name] = match;
    const what = fetched === undefined ? `${verb?.toLowerCase()} ${name?.replace(/:.*$/, '')}` : `fetching ${fetched}`;
    return at(from + ((to - from) * done) / (3 * packages), what);
  };
}

/** Says a build's beginning, its end, and each tenth of it once. */
export function createProgressLog(log: (message: string) => void): (status: ImageStatus) => void {
  const said = new Map<string, string>();
  return ({ template, state, progress, step }) => {
    const key = state === 'building' ? String(Math.floor(progress * 10)) : state;
    if (said.get(template) === key) return;
    said.set(template, key);
    // One line of text: a person watches it on a terminal.
    log(`image ${template}: ${state === 'building' ? `${Math.floor(progress * 100)} %, ${step}` : state}`);
  };
}
