import { createHash, randomBytes } from 'node:crypto';
import type { Scope } from '@svc/contract';

/** The scopes of a daemon: to be a host, to take scheduled runs, and to name the device that asks at its terminal. */
export const hostScopes: Scope[] = ['hosts:serve', 'scheduler:serve', 'sessions:serve', 'devices:read'];
/** Those that it has besides where the key that invites has them: keys from before they existed still invite. */
export const hostScopesBesides: Scope[] = ['environments:serve'];

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const length = 24;

/** A fresh code: 120 bits, of letters that people do not take for each other. */
export const createCode = (): string =>
  Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');

/** Under which a code is stored. */
export const hashOfCode = (code: string): Buffer => createHash('sha256').update(code).digest();
