import { findSignIn, type ProfileOptions } from '../config.ts';
import { endKey } from '../login/keys.ts';
import { createOutput } from '../output.ts';
import { profilePath, removeProfile } from '../profile.ts';

/** `svc logout`: ends the key of a profile at its platform, and removes the file, also when the platform cannot be reached. */
export async function logout(options: ProfileOptions): Promise<void> {
  const output = createOutput();
  const { name, directory, profile } = findSignIn(options);
  if (!profile) {
    if (options.json) output.json({ profile: name, signed_out: false, revoked: false });
    else output.line(`nobody is signed in as the profile "${name}"`);
    return;
  }
  const { isOver, why } = await endKey(profile);
  await removeProfile(directory, name);
  if (!isOver)
    output.log(`the key ${profile.key_id} was not revoked: ${why}; revoke it among the keys of your account`);
  else if (why !== undefined) output.log(why);
  if (why !== undefined) output.log(`${profilePath(directory, name)} is removed all the same`);
  if (options.json) output.json({ profile: name, signed_out: true, revoked: isOver });
  else output.line(`signed out from ${profile.url}`);
}
