import { readFileSync } from 'node:fs';
import { CommandError } from '../../kernel/base/command-error.ts';
import { writeWhole } from './providers.files.ts';
import { PriceList, type PriceFile, parsePrices, pricesPath } from './providers.prices.ts';

const timeoutMs = 20_000;
const mostBytes = 4 * 1024 * 1024;

/**
 * Takes prices over from a file or an address into the data dir, where they win over those of the release; tells what
 * changed. A platform that runs reads them within 5 s.
 */
export async function updatePrices(dataDir: string, from: string): Promise<object> {
  const before = PriceList.read(dataDir);
  let given: PriceFile;
  try {
    given = parsePrices(/^https?:/.test(from) ? await fetched(from) : readFileSync(from, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(`${from}: ${code ?? message}`);
  }
  const after = new PriceList([given]);
  const names = Object.keys(given.models);
  const isNew = (name: string): boolean => before.of(name) === undefined;
  const isChanged = (name: string): boolean =>
    !isNew(name) && JSON.stringify(before.of(name)) !== JSON.stringify(after.of(name));
  writeWhole(pricesPath(dataDir), given);
  return {
    file: pricesPath(dataDir),
    as_of: given.as_of,
    models: names.length,
    changed: names.filter(isChanged).join(', '),
    new: names.filter(isNew).join(', '),
  };
}

/** The prices that are in use, by whose they are. */
export function describePrices(dataDir: string): object {
  return {
    file: pricesPath(dataDir),
    as_of: PriceList.read(dataDir).asOf,
    update: './svc providers prices --from FILE',
  };
}

async function fetched(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!answer.ok) throw new Error(`prices: it answered ${answer.status}`);
  const text = await answer.text();
  if (text.length > mostBytes) throw new Error(`prices: it is over ${mostBytes} bytes`);
  return text;
}
