import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '@svc/contract';
import { z } from 'zod';
import { writePrivate } from '../state.ts';

/** An environment that this machine was enrolled in. */
const enrolment = z.object({ environment_id: uuid, relay_url: z.url() });
export type Enrolment = z.output<typeof enrolment>;
const most = 100;
const enrolmentsFile = z.array(enrolment).max(most);

const pathOf = (stateDir: string): string => join(stateDir, 'environments.json');

/** The environments that this machine serves; none when the file is not there, or cannot be read. */
export async function readEnrolments(stateDir: string): Promise<Enrolment[]> {
  try {
    return enrolmentsFile.parse(JSON.parse(await readFile(pathOf(stateDir), 'utf8')));
  } catch {
    return [];
  }
}

/** Remembers one, in place of an older one of that environment. */
export async function addEnrolment(stateDir: string, one: Enrolment): Promise<void> {
  const others = (await readEnrolments(stateDir)).filter(({ environment_id: id }) => id !== one.environment_id);
  await write(stateDir, [...others, one].slice(-most));
}

/** Forgets one. */
export async function dropEnrolment(stateDir: string, environmentId: string): Promise<void> {
  const others = (await readEnrolments(stateDir)).filter(({ environment_id: id }) => id !== environmentId);
  await write(stateDir, others);
}

async function write(stateDir: string, all: readonly Enrolment[]): Promise<void> {
  await writePrivate(pathOf(stateDir), `${JSON.stringify(all, null, 2)}\n`, false);
}
