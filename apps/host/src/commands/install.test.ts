import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { unitText } from './install.ts';

/** Lines of `[Service]`, but for what is of one machine. */
function serviceOf(unit: string): string[] {
  const [, service = ''] = /^\[Service\]$([^]*?)^\[Install\]$/m.exec(unit) ?? [];
  return service.split('\n').filter((line) => /^\w/.test(line) && !/^(?:ExecStart|EnvironmentFile)=/.test(line));
}

test('the unit that is installed for a user has what the one to copy has, its hardening too; root may install setuid programs', () => {
  const toCopy = readFileSync(join(import.meta.dirname, '../../../../deploy/systemd/svc-host.service'), 'utf8');
  const ofUser = unitText(['/x'], { wantedBy: 'default.target', systemctl: ['systemctl', '--user'] });
  assert.deepEqual(serviceOf(ofUser), serviceOf(toCopy));
  const ofRoot = serviceOf(unitText(['/x'], { wantedBy: 'multi-user.target', systemctl: ['systemctl'] }));
  const added = ['NoNewPrivileges=yes', 'RestrictSUIDSGID=yes', 'LockPersonality=yes'];
  assert.deepEqual([...ofRoot, ...added], serviceOf(toCopy));
});
