import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { docs } from '@svc/contract/docs';
import { installationOf } from '../../backup/database.sql.ts';
import { writePlace } from '../../backup/place.ts';
import { newName } from '../../backup/store.ts';
import type { Makers, Preparation, Scene } from '../../testing.examples.ts';
import { createAccount } from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';
import { Authenticator } from '../auth/people/authenticator.testing.ts';
import { claimPhoneLink } from '../auth/people/phones.ts';
import { signIn } from './me.testing.ts';

/** Makes the caller an operator. */
const operate = async ({ gateway, account }: Scene): Promise<void> => setOperator(gateway.kernel.sql, account.id, true);

const givePassword = async (scene: Scene): Promise<void> => {
  const { body } = docs.me.setPassword.example;
  await scene.callSignedIn('PUT', '/v1/me/password', await scene.real(body));
};

/** Makes a link, and gives it to a phone. */
async function claim(scene: Scene): Promise<void> {
  const { url } = await scene.callSignedIn('POST', '/v1/me/links');
  const phone = docs.me.getLink.example.response.phone;
  await claimPhoneLink(scene.gateway.kernel, { token: new URL(url).hash.slice(1) }, phone);
}

/** Makers of the samples of one's own account, and of people for operators. */
export const meMakers: Makers = {
  login: (scene) => scene.loginId(),
  otherLogin: async ({ gateway, account }) => (await signIn(gateway, account)).id,
  password: () => Promise.resolve('EXAMPLE four purple kettles'),
  async passkey(scene) {
    await givePassword(scene);
    const options = await scene.callSignedIn('POST', '/v1/me/passkeys/options');
    const { origin } = new URL(scene.gateway.kernel.config.authUrl);
    const passkey = new Authenticator(origin).create(options);
    return (await scene.callSignedIn('POST', '/v1/me/passkeys', { passkey, name: 'Phone' })).id;
  },
  async link(scene) {
    await claim(scene);
    const [row] = await scene.gateway.kernel.sql<{ id: string }[]>`
      select id from auth.links where account_id = ${scene.account.id} order by created_at desc limit 1`;
    return row?.id ?? '';
  },
  backupPlace: () => mkdtemp(join(tmpdir(), 'svc-place-')),
  async backupFile(scene) {
    const { kernel } = scene.gateway;
    const place = await scene.id('backupPlace');
    const name = newName(await installationOf(kernel.sql), new Date(kernel.clock.now()));
    await writeFile(join(place, name), 'The bytes of the backup.');
    await writePlace(kernel.sql, kernel, { place });
    return name;
  },
  newEmail: () => Promise.resolve(`${randomUUID()}@example.test`),
  person: async ({ gateway }) => (await createAccount(gateway)).id,
  personEmail: async ({ gateway }) => (await createAccount(gateway)).email,
};

/** What the examples of these features need beside. */
export const mePreparations: Record<string, Preparation> = {
  'me.reauthOptions': { before: (scene) => scene.id('passkey') },
  'me.reauth': { before: givePassword },
  'me.update': { before: givePassword },
  'me.removePassword': { before: (scene) => scene.id('passkey') },
  'me.confirmLink': {
    async before(scene) {
      // The example's number is the one that the phone shows.
      const id = await scene.id('link');
      const { number } = docs.me.confirmLink.example.body;
      await scene.gateway.kernel.sql`
        update auth.links set details = jsonb_set(details, '{number}', ${String(number)}::text::jsonb) where id = ${id}`;
    },
  },
  'system.get': { before: operate },
  'system.backups': { before: operate },
  'system.backUp': { before: operate },
  'system.setBackupPlace': { before: operate },
  'system.removeBackupPlace': {
    // One is there each time: what a call does went by whether another example had chosen one before.
    async before(scene) {
      await operate(scene);
      const { kernel } = scene.gateway;
      await writePlace(kernel.sql, kernel, { place: await scene.id('backupPlace') });
    },
  },
  'system.listBackups': { before: operate },
  'system.readBackup': { before: operate },
  'accounts.list': { before: operate },
  'accounts.create': { before: operate },
  'accounts.get': { before: operate },
  'accounts.update': { before: operate },
  'accounts.link': { before: operate },
  'accounts.signOut': { before: operate },
};
