import { readdir, readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { publish } from '../published.ts';

/**
 * Writes the shim without its types to `<dir>/<hash>`, with all that it imports; answers the path of `main.mjs`.
 * Node.js that strips types itself takes 79 MB and 130 ms for each shim instead of 45 MB (9 of them its own) and 40 ms
 * (measured); and a shim that lives through an upgrade finds what it loads late as it was.
 */
export async function publishShim(dir: string): Promise<string> {
  const netguard = createRequire(import.meta.url).resolve('@svc/netguard');
  const ipaddr = createRequire(netguard).resolve('ipaddr.js');
  const folders = [import.meta.dirname, join(import.meta.dirname, '../wire'), dirname(netguard)];
  const files = new Map<string, string>([['ipaddr.cjs', await readFile(ipaddr, 'utf8')]]);
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      if (!name.endsWith('.ts') || /\.test\.ts$|^(?:cage|publish|client|messages)\.ts$/.test(name)) continue;
      const fresh = name.replace(/\.ts$/, '.mjs');
      if (files.has(fresh)) throw new Error(`two parts of the shim are called ${name}`);
      files.set(fresh, plain(await readFile(join(folder, name), 'utf8')));
    }
  }
  const { path } = await publish(dir, files);
  return join(path, 'main.mjs');
}

/** The module without types, its imports beside it. */
function plain(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(/(from|import\() ?'\.[^']*?([\w-]+)\.ts'/g, "$1 './$2.mjs'")
    .replace("'@svc/netguard'", "'./index.mjs'")
    .replace("'ipaddr.js'", "'./ipaddr.cjs'");
}
