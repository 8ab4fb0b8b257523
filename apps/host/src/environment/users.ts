import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { linuxUsername, type RelayUser, uuid } from '@svc/contract';
import { z } from 'zod';
import { errnoOf } from '../failure.ts';
import { writePrivate } from '../state.ts';
import type { SystemUser, UserSystem } from './users.system.ts';

/** A Linux user that this daemon made. */
const madeUser = z.object({
  name: linuxUsername,
  environment_id: uuid,
  user_id: uuid,
  /** Null: it was being made when this was written. Another user of the name, made by somebody else, has another number. */
  uid: z.int().nullable(),
  /** False: its member is gone, and it is locked. */
  is_active: z.boolean(),
});
type MadeUser = z.output<typeof madeUser>;
const usersFile = z.array(madeUser);

/** Linux users of members, on this machine. */
export interface MachineUsers {
  /**
   * Makes the users of an environment's members as they are listed, and locks those that are not any more. Answers the ids of
   * members whose user is there: a name that the machine had before, or that belonged to another member, is not touched.
   */
  provision(environmentId: string, members: readonly RelayUser[]): Promise<string[]>;
  /** Names of the users of an environment that are there. */
  names(environmentId: string): Promise<string[]>;
  /** The user by that name, if it is one of the environment's and its member is still there. */
  find(environmentId: string, name: string): Promise<SystemUser | undefined>;
}

/** Where it is kept what was made, and by what. */
interface UsersOptions {
  stateDir: string;
  system: UserSystem;
  log: (line: string) => void;
}

/** Makes the users of a machine, which its environments share. */
export function createMachineUsers(options: UsersOptions): MachineUsers {
  const { stateDir, system } = options;
  // One after the other: environments of a machine share its names.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    provision(environmentId, members) {
      const next = turn.then(async () =>
        new Provisioning(options, await readUsers(stateDir)).run(environmentId, members),
      );
      turn = next.catch(() => {});
      return next;
    },
    async names(environmentId) {
      return (await readUsers(stateDir)).filter((one) => isThere(one, environmentId)).map(({ name }) => name);
    },
    async find(environmentId, name) {
      const made = (await readUsers(stateDir)).find((one) => one.name === name && isThere(one, environmentId));
      const user = made && (await system.find(name));
      return user && user.uid === made.uid ? user : undefined;
    },
  };
}

const isThere = (one: MadeUser, environmentId: string): boolean =>
  one.environment_id === environmentId && one.is_active && one.uid !== null;

const pathOf = (stateDir: string): string => join(stateDir, 'users.json');

/** The users that this daemon made. Throws when the file is damaged: users would be taken for those of others. */
async function readUsers(stateDir: string): Promise<MadeUser[]> {
  const text = await readFile(pathOf(stateDir), 'utf8').catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return '[]';
    throw error;
  });
  return usersFile.parse(JSON.parse(text));
}

/** One pass over the members of an environment. */
class Provisioning {
  readonly #options: UsersOptions;
  #made: MadeUser[];

  constructor(options: UsersOptions, made: MadeUser[]) {
    this.#options = options;
    this.#made = made;
  }

  async run(environmentId: string, members: readonly RelayUser[]): Promise<string[]> {
    const there: string[] = [];
    const ids = new Set(members.map(({ user_id: id }) => id));
    for (const one of this.#made.filter((each) => each.environment_id === environmentId && each.is_active))
      if (!ids.has(one.user_id)) await this.#try(one.name, () => this.#leave(one));
    for (const member of members) {
      const name = member.linux_username;
      if (await this.#try(name, () => this.#enter(environmentId, member))) there.push(member.user_id);
    }
    return there;
  }

  /** What the machine refuses for one user is no reason to leave out the others. */
  async #try(name: string, work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#options.log(`the Linux user ${name}: ${(error as Error).message}`);
      return false;
    }
  }

  async #enter(environmentId: string, member: RelayUser): Promise<boolean> {
    const { system } = this.#options;
    const { linux_username: name, user_id: userId, ssh_public_key: key } = member;
    const mark = `svc ${environmentId} ${userId}`;
    const found = await system.find(name);
    const known = this.#made.find((one) => one.name === name);
    // Its home has the files of the member it was made for.
    if (known && (known.environment_id !== environmentId || known.user_id !== userId))
      throw new Error('is that of another member');
    if (found && !(known && (known.uid === found.uid || (known.uid === null && found.comment === mark))))
      throw new Error('was on this machine before, and is not touched');
    const made: MadeUser = { name, environment_id: environmentId, user_id: userId, uid: null, is_active: true };
    if (!found) {
      // Written first: a user that was made and not written down would never be this daemon's.
      await this.#keep(made);
      await system.create(name, mark);
    } else if (known?.is_active === false) await system.unlock(name);
    const user = found ?? (await system.find(name));
    if (!user) throw new Error('was made and is not there');
    await this.#keep({ ...made, uid: user.uid });
    await system.writeKey(user, key);
    return true;
  }

  async #leave(one: MadeUser): Promise<boolean> {
    const { system } = this.#options;
    const user = await system.find(one.name);
    // Somebody else may have deleted it, or made another one of that name.
    if (user && user.uid === one.uid) {
      await system.lock(one.name);
      await system.writeKey(user, null);
    }
    await this.#keep({ ...one, is_active: false });
    return true;
  }

  async #keep(one: MadeUser): Promise<void> {
    this.#made = [...this.#made.filter(({ name }) => name !== one.name), one];
    await writePrivate(pathOf(this.#options.stateDir), `${JSON.stringify(this.#made, null, 2)}\n`, false);
  }
}
