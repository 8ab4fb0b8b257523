import { z } from 'zod';
import { CommandError } from '../failure.ts';
import type { Profile } from '../profile.ts';
import { ask, faultOf } from './request.ts';

/** A key, and the platform that made it: it is sent nowhere else. */
type OwnKey = Pick<Profile, 'url' | 'key'>;

const connectedKey = z.object({
  id: z.string().regex(/^[\w-]{1,100}$/),
  key: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  scopes: z.array(z.string()),
});

/** Turns an access token into a key of this machine. Throws `CommandError`. */
export async function connect(
  url: string,
  token: string,
  { name, device }: { name: string; device: string },
): Promise<z.infer<typeof connectedKey>> {
  const answer = await ask(`${url}/v1/keys/connect`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: name.slice(0, 120), device }),
  });
  const made = connectedKey.safeParse(answer.body);
  if (answer.status === 201 && made.success) return made.data;
  throw new CommandError(`the platform gave no key: ${faultOf(answer)}`);
}

const me = z.object({
  account: z.object({ id: z.string(), email: z.string(), name: z.string().nullish() }),
  actor: z.object({ scopes: z.array(z.string()).optional(), tool_level: z.string().optional() }).optional(),
});

/** Whose key it is, and what it may do. */
interface Me {
  account: NonNullable<Profile['account']>;
  scopes: string[] | undefined;
  toolLevel: string | undefined;
}

/** How a platform answers who a key is: `refused` for one that it does not take, `older` where it does not tell. */
export async function askWho({ url, key }: OwnKey): Promise<Me | 'refused' | 'older'> {
  const answer = await ask(`${url}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
  if (answer.status === 401) return 'refused';
  if (answer.status === 404 || answer.status === 405) return 'older';
  const found = me.safeParse(answer.body);
  if (answer.status !== 200) throw new CommandError(faultOf(answer));
  if (!found.success) return 'older';
  const { account, actor } = found.data;
  return {
    account: { id: account.id, email: account.email, name: account.name ?? '' },
    scopes: actor?.scopes,
    toolLevel: actor?.tool_level,
  };
}

/** How the end of a key went; `why`: in words, unless the platform ended it as it was asked to. */
interface KeyEnd {
  isOver: boolean;
  why?: string;
}

/** Has a key end itself; never throws. */
export async function endKey({ url, key, key_id: id }: OwnKey & Pick<Profile, 'key_id'>): Promise<KeyEnd> {
  try {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await ask(`${url}/v1/keys/${encodeURIComponent(id)}`, { method: 'DELETE', headers });
    if (answer.status === 200) return { isOver: true };
    return answer.status === 401
      ? { isOver: true, why: 'the platform did not take the key any more' }
      : { isOver: false, why: faultOf(answer) };
  } catch (error) {
    return { isOver: false, why: (error as Error).message };
  }
}
