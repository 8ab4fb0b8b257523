import { existsSync } from 'node:fs';
import { parseSettings, settingsFileName } from '../config.file.ts';
import { secretFiles } from '../config.secrets.ts';
import type { Given } from '../config.ts';
import { openSealed, type VerifiedBackup } from './reader.ts';

/** Settings that say where blobs are: those of the backup go back there. */
const ofBlobs = /^SVC_S3_/;
/** Settings that name a file of the machine. */
const namesFile = (name: string): boolean =>
  secretFiles.has(name) || ['SVC_TLS_CERT', 'SVC_TLS_KEY', 'SVC_PROVIDERS'].includes(name);

/** Where blobs belong, as the sealed settings of a backup say; nothing else of them counts for a restore. */
export function blobSettingsOf(verified: VerifiedBackup): Given {
  const text = openSealed(verified, settingsFileName)?.toString();
  const all = text === undefined ? {} : parseSettings(text, settingsFileName);
  return Object.fromEntries(Object.entries(all).filter(([name]) => ofBlobs.test(name)));
}

/**
 * The settings file as another machine can start with it. What names a file that is not here becomes a comment; so does the
 * file of the master key, which the data dir has from now on. Answers the names of the first kind. From a file without a seal,
 * which anybody may have made, whatever could name a path, an address or a command becomes one too: `unproven`.
 */
export function settingsHere(text: string, isSealed = true): { text: string; missing: string[]; unproven: string[] } {
  const missing: string[] = [];
  const unproven: string[] = [];
  const lines = text.split('\n').map((line) => {
    const [name, value] = Object.entries(settingOf(line))[0] ?? [];
    if (name !== undefined && !isSealed && !isHarmless(name, value ?? '')) {
      unproven.push(name);
      return `# nothing proves who wrote this; without the sign it counts: ${line}`;
    }
    if (name === undefined || !namesFile(name)) return line;
    if (name === 'SVC_MASTER_KEY_FILE') return `# restored into the data dir: ${line}`;
    if (existsSync(value ?? '')) return line;
    missing.push(name);
    return `# not on this machine when it was restored: ${line}`;
  });
  return { text: lines.join('\n'), missing, unproven };
}

/** A number, a word or a list of words, under a name that is not about where something is. */
const isHarmless = (name: string, value: string): boolean =>
  /^[A-Za-z0-9_, -]{0,200}$/.test(value) &&
  !/(?:URL|HOSTS?|DIR|FILE|SOCKET|SERVERS?|CERT|KEY|TOKEN|COMMAND|ENDPOINT|PROXY|PROXIES|BUCKET|USER|NAME)(?:_|$)/.test(
    name,
  );

function settingOf(line: string): Record<string, string> {
  try {
    return parseSettings(line, settingsFileName);
  } catch {
    // A start names it.
    return {};
  }
}
