import { z } from 'zod';
import { uuid } from './fields.ts';
import { reportBounds } from './relay.report.ts';

/** Most bytes of the list of members that a relay sends. */
export const mostUsersBytes = 4 * 1024 * 1024;

/** A name of a Linux user that an environment gives. */
export const linuxUsername = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);

/**
 * What a relay sends a daemon with `POST /users` of its tunnel, whole each time: members who may open a terminal, with the SSH
 * key they come in with.
 */
export const relayUsers = z.object({
  users: z
    .array(
      z.object({
        linux_username: linuxUsername,
        /** As `authorized_keys` has it: one line. */
        ssh_public_key: z
          .string()
          .max(16_384)
          .regex(/^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp\d{3}) [A-Za-z0-9+/=]+(?: [^\r\n]*)?$/)
          .nullable(),
        user_id: uuid,
      }),
    )
    .max(reportBounds.provisioned),
});

/** What the daemon answers: whose Linux user is there. */
export const relayUsersProvisioned = z.object({ provisioned: z.array(uuid).max(reportBounds.provisioned) });

/** A member whose Linux user a daemon makes. */
export type RelayUser = z.output<typeof relayUsers>['users'][number];
