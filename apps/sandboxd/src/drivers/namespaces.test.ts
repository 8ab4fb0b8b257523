import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { namespaceAdvice } from './namespaces.ts';

test('the settings of the kernel that keep user namespaces away are named, each with the value that allows them, and no other', async (t) => {
  const root = await temporaryDirectory(t);
  for (const name of ['kernel', 'user']) await mkdir(join(root, name));
  assert.match(await namespaceAdvice(root), /by none of the usual settings/);
  await writeFile(join(root, 'kernel/unprivileged_userns_clone'), '1\n');
  await writeFile(join(root, 'kernel/apparmor_restrict_unprivileged_userns'), '1\n');
  await writeFile(join(root, 'user/max_user_namespaces'), '96365\n');
  assert.match(await namespaceAdvice(root), /: sysctl -w kernel\.apparmor_restrict_unprivileged_userns=0$/);
  await writeFile(join(root, 'user/max_user_namespaces'), '0\n');
  await writeFile(join(root, 'kernel/unprivileged_userns_clone'), '0\n');
  await writeFile(join(root, 'kernel/apparmor_restrict_unprivileged_userns'), '0\n');
  assert.match(
    await namespaceAdvice(root),
    /: sysctl -w kernel\.unprivileged_userns_clone=1 user\.max_user_namespaces=15000$/,
  );
});
