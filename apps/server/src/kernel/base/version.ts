import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '../../../../../package.json');

/** The version of the platform, as its package names it; read once. */
export const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
/** Names it on every answer. */
export const versionHeader = 'x-svc-version';
/** Names the process that answers: commands on its machine tell by it whose platform they found. */
export const instanceHeader = 'x-svc-instance';
