import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { debianMirror } from './mirror.ts';

const debian = 'ID=debian\nVERSION_CODENAME=bookworm\n';

test("the mirror is the one apt takes Debian from, not a third party's and not that of security updates", async (t) => {
  const cases: [release: string, files: Record<string, string>, wanted: string | undefined][] = [
    [
      debian,
      {
        'sources.list': `# deb http://commented/debian bookworm main
          deb http://security.example/debian-security bookworm-security main
          deb [arch=amd64 signed-by=/x.gpg] https://third.example/apt bookworm main
          deb [arch=amd64] http://mirror.example/debian/ bookworm main contrib`,
      },
      'http://mirror.example/debian',
    ],
    [
      debian,
      {
        'sources.list.d/a.list': 'deb https://third.example/linux/debian bookworm main',
        'sources.list.d/debian.sources': `Types: deb deb-src
# a comment
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: https://mirror.example/some/where
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`,
      },
      'https://mirror.example/some/where',
    ],
    [
      debian,
      { 'sources.list': 'deb cdrom:[x]/ bookworm main\ndeb http://m.example/pgdg bookworm-pgdg main' },
      undefined,
    ],
    ['ID=ubuntu\nVERSION_CODENAME=noble\n', { 'sources.list': 'deb http://a.example/ubuntu noble main' }, undefined],
  ];
  for (const [release, files, wanted] of cases) {
    const etc = await temporaryDirectory(t);
    await mkdir(join(etc, 'apt/sources.list.d'), { recursive: true });
    await writeFile(join(etc, 'os-release'), release);
    for (const [name, text] of Object.entries(files)) await writeFile(join(etc, 'apt', name), text);
    assert.equal(await debianMirror(etc), wanted);
  }
});
