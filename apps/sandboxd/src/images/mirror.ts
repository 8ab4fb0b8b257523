import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Source {
  uri: string;
  suite: string;
  components: string[];
  signedBy: string;
}

/**
 * The Debian mirror that this machine's apt uses, without a slash at its end; undefined where apt has none (Ubuntu, no
 * apt). Third parties have suites of the same name: what Debian's own keyring signs goes first.
 */
export async function debianMirror(etc = '/etc'): Promise<string | undefined> {
  const release = await readFile(join(etc, 'os-release'), 'utf8').catch(() => '');
  if (!/^ID="?debian"?$/m.test(release)) return undefined;
  const codename = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1];
  const suites = new Set([codename, 'stable', 'oldstable', 'testing', 'unstable', 'sid']);
  const found = (await sources(join(etc, 'apt'))).filter(
    ({ uri, suite, components }) => /^https?:\/\//.test(uri) && suites.has(suite) && components.includes('main'),
  );
  const rank = ({ uri, signedBy }: Source) =>
    (signedBy.includes('debian-archive') ? 0 : 2) + (/\/debian\/?$/.test(uri) ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b))[0]?.uri.replace(/\/+$/, '');
}

async function sources(apt: string): Promise<Source[]> {
  const parts = join(apt, 'sources.list.d');
  const names = (await readdir(parts).catch(() => [])).sort(byName).map((name) => join(parts, name));
  const found: Source[] = [];
  for (const path of [join(apt, 'sources.list'), ...names]) {
    const text = await readFile(path, 'utf8').catch(() => '');
    if (path.endsWith('.sources')) found.push(...parseDeb822(text));
    else if (path.endsWith('.list')) found.push(...parseList(text));
  }
  return found;
}

/** `deb [options] uri suite component…`, one a line. */
function parseList(text: string): Source[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line);
    if (!match) return [];
    const [, options = '', uri = '', suite = '', components = ''] = match;
    const signedBy = /signed-by=(\S+)/i.exec(options)?.[1] ?? '';
    return [{ uri, suite, components: components.trim().split(/\s+/), signedBy }];
  });
}

/** Paragraphs of `Field: values`, a continued line indented. */
function parseDeb822(text: string): Source[] {
  const plain = text.replace(/^#.*\n/gm, '').replace(/\n[ \t]+/g, ' ');
  return plain.split(/\n\s*\n/).flatMap((paragraph) => {
    const field = (name: string) =>
      (new RegExp(`^${name}:(.*)$`, 'im').exec(paragraph)?.[1] ?? '').trim().split(/\s+/).filter(Boolean);
    if (!field('Types').includes('deb') || field('Enabled')[0] === 'no') return [];
    const [components, signedBy] = [field('Components'), field('Signed-By').join(' ')];
    return field('URIs').flatMap((uri) => field('Suites').map((suite) => ({ uri, suite, components, signedBy })));
  });
}

const byName = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
