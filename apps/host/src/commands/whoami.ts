import { findSignIn, type ProfileOptions } from '../config.ts';
import { CommandError } from '../failure.ts';
import { signInAgain } from '../gateway.ts';
import { askWho } from '../login/keys.ts';
import { createOutput } from '../output.ts';
import { table } from '../table.ts';

/** As much of a key as the platform lists too. */
const shownCharacters = 8;

/** `svc whoami`: who is signed in by a profile, and what its key may do, as the platform says now. */
export async function whoami(options: ProfileOptions): Promise<void> {
  const output = createOutput();
  const { name, profile, warnings, hasOtherKey } = findSignIn(options);
  for (const warning of warnings) output.log(warning);
  if (!profile)
    throw new CommandError(`not signed in${name === 'default' ? '' : ` as the profile "${name}"`}: svc login`);
  const { url, key, key_id: keyId } = profile;
  const who = await askWho(profile);
  if (who === 'refused') {
    const advice = signInAgain({ profile: name, url }) ?? '';
    throw new CommandError(`not signed in any more: ${url} does not take the key; ${advice}`);
  }
  if (who === 'older') throw new CommandError(`${url} is too old to say who is signed in`);
  const { account, toolLevel } = who;
  const scopes = who.scopes ?? profile.scopes;
  const prefix = key.slice(0, shownCharacters);
  if (hasOtherKey) output.log('SVC_API_KEY is set: commands use that key, unless --profile names this one');
  if (options.json) {
    const ofKey = { id: keyId, prefix, tool_level: toolLevel ?? null };
    return output.json({ profile: name, url, account, key: ofKey, scopes });
  }
  const rows = [
    ['account', account.name === '' ? account.id : `${account.name} (${account.id})`],
    ['address', account.email],
    ['profile', name],
    ['url', url],
    ['key', `${prefix}…`],
    ['scopes', scopes.join(', ')],
  ];
  for (const line of table(rows)) output.line(line);
}
