import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Daemon, startDaemon, whyNot } from '../testing.ts';

/** A create waits so long for the snapshot of its template. */
const imageMs = 120_000;
const profile = '~/.config/libreoffice/4/user/registrymodifications.xcu';

describe('a sandbox of office-acte', { skip: whyNot('office-acte') }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
  });
  after(() => daemon.stop());

  test('has converted a document before it is handed out, the first one of a node too', async () => {
    const ids: string[] = [];
    while (ids.length < 2) {
      const id = randomUUID();
      const began = performance.now();
      const { status, body } = await daemon.create(id, { template: 'office-acte' });
      assert.equal(status, 200, JSON.stringify(body));
      if (body['restored'] !== true) {
        // A machine that is so busy that the first command takes longer than a caller is held: the next one may be warm.
        assert.ok(performance.now() - began > imageMs, JSON.stringify(body));
        await daemon.call('DELETE', `/v1/sandboxes/${id}`);
        continue;
      }
      ids.push(id);
      // The file that LibreOffice writes at its first run; nothing else of that run is left.
      const { stdout, stderr } = await daemon.exec(id, { shell: `ls ${profile}; ls -A /tmp /workspace ~/.local` });
      const there = '/home/user/.config/libreoffice/4/user/registrymodifications.xcu';
      assert.equal(stdout, `${there}\n/home/user/.local:\n\n/tmp:\n\n/workspace:\nout\n`, stderr);
    }
    const convert = `cd /tmp && python3 -c 'import docx; d = docx.Document(); d.add_paragraph("x"); d.save("a.docx")' &&
      soffice --headless --convert-to pdf a.docx > /dev/null && head -c 5 a.pdf`;
    // Both at once: each has a profile of its own.
    const done = await Promise.all(ids.map((id) => daemon.exec(id, { shell: convert })));
    for (const { stdout, stderr } of done) assert.equal(stdout, '%PDF-', stderr);
  });
});
