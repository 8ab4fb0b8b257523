import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** Earlier processes that are known by name: more end between two looks of a gateway only where none ran for hours. */
const mostEarlier = 32;

/** This process of a node, and those before it on its directory: a copy of the directory has others from then on. */
interface Incarnation {
  incarnation: string;
  /** The last is the one before. */
  earlier: string[];
}

/** Names this process, and keeps the name in `dir` for the next one. */
export async function openIncarnation(
  dir: string,
  log: (message: string, details?: object) => void,
): Promise<Incarnation> {
  const path = join(dir, 'incarnations.json');
  const earlier = (await readEarlier(path, log)).slice(-mostEarlier);
  const incarnation = randomUUID();
  try {
    const file = await open(`${path}.new`, 'w', 0o600);
    await file.writeFile(JSON.stringify([...earlier, incarnation]));
    // After a power cut the next process must still be known as the one that goes on.
    await file.sync();
    await file.close();
    await rename(`${path}.new`, path);
  } catch (err) {
    // A full disk makes no sandbox unreachable.
    log('the name of this process was not kept', { err });
  }
  return { incarnation, earlier };
}

async function readEarlier(path: string, log: (message: string, details?: object) => void): Promise<string[]> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as string[];
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') log('names of earlier processes were not read', { err });
    return [];
  }
}
