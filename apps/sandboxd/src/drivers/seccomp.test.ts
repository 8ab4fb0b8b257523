import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Daemon, skip, startDaemon } from '../testing.ts';

/** Tries each way to make a subvolume, says which error it met. */
const subvolumes = `
import errno, fcntl, os, struct
here = os.open('/workspace', os.O_RDONLY)
first = lambda name: struct.pack('q4088s', here, name)
second = lambda name: struct.pack('qQQ4Q4040s', here, 0, 0, 0, 0, 0, 0, name)
for number, body in ((0x5000940e, first), (0x50009418, second), (0x50009401, first), (0x50009417, second)):
    try:
        fcntl.ioctl(here, number, bytearray(body(b'escape%x' % number)), True)
        print('made')
    except OSError as error:
        print(errno.errorcode[error.errno])
`;

/** System calls by the doors of other architectures: x32, then 32 bits. */
const otherDoors = `
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(0x40000000 + 39), ctypes.get_errno(), flush=True)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print('answered', ctypes.CFUNCTYPE(ctypes.c_int)(address)())
`;

for (const backend of ['v1', 'v2'] as const) {
  describe(`what code in a ${backend} sandbox cannot ask of the kernel`, { skip }, () => {
    let daemon: Daemon;
    const id = randomUUID();
    before(async () => {
      daemon = await startDaemon(['--warm', '0']);
      assert.equal((await daemon.create(id, { backend })).status, 200);
    });
    after(() => daemon.stop());
    const python = (code: string) => daemon.exec(id, { language: 'python', code });
    /** Whether 32-bit calls reach the machine's kernel: then the filter of a v1 sandbox ends who makes one, with SIGSYS. */
    const hasDoor = async (): Promise<boolean> => {
      const filtered = randomUUID();
      assert.equal((await daemon.create(filtered, { backend: 'v1' })).status, 200);
      const { last } = await daemon.exec(filtered, { language: 'python', code: otherDoors });
      return last?.type === 'exit' && last.exit_code === 128 + constants.signals.SIGSYS;
    };

    test('a subvolume, which no quota would count', async (t) => {
      const done = await python(subvolumes);
      const refused = backend === 'v1' ? 'EPERM' : 'ENOTTY';
      assert.equal(done.stdout, `${refused}\n`.repeat(4), done.stderr);
      const [name = ''] = readdirSync(daemon.workspaces);
      assert.deepEqual(readdirSync(join(daemon.workspaces, name, 'files')), ['out']);
      if (statSync(join(daemon.workspaces, name)).ino !== 256) return t.diagnostic('the workspaces are not on btrfs');
      // The same user may, where nobody keeps it from asking.
      const uid = String(statSync(join(daemon.workspaces, name)).uid);
      const cwd = join(daemon.workspaces, name, 'files');
      const user = ['--reuid', uid, '--regid', uid, '--clear-groups', '--'];
      execFileSync('setpriv', [...user, 'btrfs', 'subvolume', 'create', 'made'], { cwd, stdio: 'ignore' });
      assert.equal(statSync(join(cwd, 'made')).ino, 256);
    });

    test('words put into the mouth of a terminal', async () => {
      const done = await python(`
import errno, fcntl, pty
for fd in pty.openpty():
    for number in (0x5412, 0x541c):
        try:
            fcntl.ioctl(fd, number, b'x')
            print('taken')
        except OSError as error:
            print(errno.errorcode[error.errno])
`);
      assert.match(done.stdout, /^(?:(?:EPERM|ENOTTY|EIO)\n){4}$/, done.stderr);
    });

    test('system calls of another architecture', { skip: process.arch !== 'x64' && 'x64 only' }, async () => {
      const done = await python(otherDoors);
      assert.match(done.stdout, /^-1 38\n/, done.stderr);
      // Where the machine itself has no door for 32 bits, `int 0x80` is a segmentation fault, in a sandbox and outside.
      if (backend === 'v2' && (await hasDoor()))
        // gVisor has no such calls (ENOSYS).
        return assert.match(done.stdout, /\nanswered -38\n$/, JSON.stringify(done));
      assert.doesNotMatch(done.stdout, /answered/);
      assert.ok(done.last?.type === 'exit' && (done.last.exit_code ?? 0) > 128, JSON.stringify(done.last));
    });
  });
}
