import type { Mail } from '@svc/words';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Connections } from '../../connections/index.ts';
import type { Guesses } from '../people/guesses.ts';
import type { PasswordHashing } from '../people/hashing.ts';
import type { Identity } from '../auth.identity.ts';

/** Sends a mail to a person; undefined where no mail is set. */
export type SendMail = (to: string, mail: Mail) => Promise<void>;

/** What the pages of signing in stand on. */
export interface FlowParts {
  kernel: Kernel;
  identity: Identity;
  connections: Connections;
  hashing: PasswordHashing;
  guesses: Guesses;
  mail: SendMail | undefined;
}
