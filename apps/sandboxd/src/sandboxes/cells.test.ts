import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Kernel } from '../guest/kernel.testing.ts';
import { temporaryDirectory } from '../parts.testing.ts';
import { type Daemon, rootfsOf, skip, startDaemon } from '../testing.ts';

type Text = string | { readonly contains: string };

/** Cells one after the other as users of notebooks write them, and what the last one gives. */
interface Notebook {
  readonly id: string;
  readonly cells: readonly string[];
  readonly expect: {
    readonly result?: string | null;
    readonly stdout?: Text;
    readonly stderr?: Text;
    /** In Jupyter an output of its own. */
    readonly display?: Text;
    readonly error: string | null | readonly string[];
    readonly images: number;
  };
}

const notebooks = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures/cells.json'), 'utf8')) as Notebook[];
const isOther = (text: string, wanted: Text | undefined): boolean =>
  wanted !== undefined && (typeof wanted === 'string' ? text !== wanted : !text.includes(wanted.contains));

// Cells with the libraries of the image. What the kernel does alone is proven in guest/kernel.test.ts.
describe('cells', { skip }, () => {
  let daemon: Daemon;
  const id = randomUUID();
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
    assert.equal((await daemon.create(id, { backend: 'v1' })).status, 200);
  });
  after(() => daemon.stop());

  test('matplotlib’s figures are drawn each by itself: one that fails is told, one with a part far outside keeps its size', async () => {
    const drawn = await daemon.code(
      id,
      `import matplotlib.pyplot as plt
plt.figure().add_subplot().text(1e6, 1e6, 'far')
plt.figure(); plt.title('Yo "Ba$$in"')
plt.figure(); plt.plot([1, 2])
None`,
    );
    assert.deepEqual(drawn.images, ['out/figure-1-1.png', 'out/figure-1-3.png']);
    assert.match(drawn.error?.value ?? '', /^figure 2 of this cell \("Yo "Ba\$\$in""\) could not be drawn: /);
    assert.match(drawn.stderr, /^svc: figure 2 of this cell/);
    const next = await daemon.code(id, '1 + 1');
    assert.deepEqual([next.result, next.error, next.images], ['2', null, []]);
    const sizes = await daemon.exec(id, { shell: 'file out/*.png | grep -o "[0-9]* x [0-9]*"' });
    assert.match(sizes.stdout, /^640 x 480\n/);
  });

  test('plt.show() and fig.show() store what is open and close it, so that each plot is a picture of its own', async () => {
    const code = `import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt, pandas as pd
for name, values in {'a': [1, 2], 'b': [2, 1]}.items():
    pd.Series(values).plot(title=name)
    plt.show()
first, second = plt.figure(), plt.figure()
second.show()
plt.title('$$x$')
plt.show()
open_now = plt.get_fignums()
plt.plot([3])
open_now`;
    const drawn = await daemon.code(id, code);
    const number = drawn.execution_count;
    const names = [1, 2, 3, 4, 5].map((one) => `out/figure-${number}-${one}.png`);
    assert.deepEqual([drawn.images, drawn.result, drawn.error], [names, '[]', null]);
  });

  test('what is cut at 1 MiB, of a command and of a cell, ends with a whole character', async () => {
    // A character of two bytes each, and one byte before them.
    const whole = `x${'ț'.repeat(524_287)}`;
    const write = `print('x' + 'ț' * 600_000)`;
    const command = await daemon.exec(id, { language: 'python', code: write });
    assert.ok(command.stdout === whole, command.stdout.slice(-20));
    const cell = await daemon.code(id, `${write}\n'ț' * 40_000`);
    assert.ok(cell.stdout === whole, cell.stdout.slice(-20));
    assert.deepEqual([cell.result?.length, cell.truncated], [32_768, ['stdout', 'result']]);
  });

  test('what threads write between cells comes with the next one, marked, of each stream the last 64 KiB', async () => {
    const thread = (text: string) => `import os, sys, threading, time
def late():
    while not os.path.exists('go'): time.sleep(0.01)
    print(${text}, end='')
    print('problem', file=sys.stderr)
    os.rename('go', 'went')
threading.Thread(target=late).start()
print('first')`;
    const between = async (text: string) => {
      assert.equal((await daemon.code(id, thread(text))).stdout, 'first\n');
      await daemon.exec(id, { shell: 'touch go; until [ -e went ]; do sleep 0.05; done; rm went' });
      return await daemon.code(id, 'print("second")');
    };
    const short = await between(`'said'`);
    assert.equal(short.stdout, '[written between the cells]\nsaid\n[this cell]\nsecond\n');
    assert.equal(short.stderr, '[written between the cells]\nproblem\n[this cell]\n');
    const long = await between(`'ț' * 40_000 + '.'`);
    const told = '[written between the cells, of which the first 14,466 bytes are left out]';
    assert.ok(long.stdout === `${told}\n${'ț'.repeat(32_767)}.\n[this cell]\nsecond\n`, long.stdout.slice(0, 200));
    assert.equal((await daemon.code(id, 'print("third")')).stdout, 'third\n');
  });

  test('62 notebooks give what they give in Jupyter, where `display` prints', async (t) => {
    const rootfs = rootfsOf('svc-base') ?? assert.fail('no image');
    const wrong: string[] = [];
    for (const { id: which, cells, expect } of notebooks) {
      await using kernel = new Kernel(await temporaryDirectory(t), rootfs);
      for (const cell of cells.slice(0, -1)) await kernel.run(cell);
      kernel.said = { stdout: '', stderr: '' };
      const answer = await kernel.run(cells.at(-1) ?? '');
      // What it wrote may come behind its answer, on another pipe.
      const { stdout, stderr } = await kernel.end();
      const faults = [
        'result' in expect && answer.result !== expect.result && `result ${answer.result}`,
        isOther(stdout, expect.stdout) && `stdout ${stdout.slice(0, 200)}`,
        isOther(stdout, expect.display) && `display ${stdout.slice(0, 200)}`,
        isOther(stderr, expect.stderr) && `stderr ${stderr.slice(0, 200)}`,
        ![expect.error].flat().includes(answer.error?.name ?? null) && `error ${JSON.stringify(answer.error)}`,
        answer.images.length !== expect.images && `${answer.images.length} images`,
      ];
      wrong.push(...faults.filter((fault) => fault !== false).map((fault) => `${which}: ${fault}`));
    }
    assert.deepEqual(wrong, []);
  });
});
