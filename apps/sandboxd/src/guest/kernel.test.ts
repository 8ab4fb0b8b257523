import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { Kernel } from './kernel.testing.ts';

const startKernel = async (t: TestContext): Promise<Kernel> => new Kernel(await temporaryDirectory(t));

/** As much of matplotlib as the kernel asks for: a figure whose title is `bad` fails while it is drawn. */
const matplotlib = {
  '__init__.py': `rcParams = {'savefig.dpi': 'figure', 'savefig.pad_inches': 0}`,
  '_pylab_helpers.py': 'class Gcf: figs = {}',
  'pyplot.py': `
from matplotlib._pylab_helpers import Gcf
class Box:
    width = height = 1
    def padded(self, _): return self
class Figure:
    dpi, axes = 100, []
    def __init__(self, title='', size=(1, 1)): self.title, self.size = title, size
    def get_size_inches(self): return self.size
    def get_suptitle(self): return self.title
    def draw_without_rendering(self): pass
    def get_tightbbox(self): return Box()
    def savefig(self, path, **how):
        open(path, 'w').write(self.title)
        if self.title == 'bad': raise ValueError('no such glyph')
def figure(number=None, **how):
    if number is None:
        number = len(Gcf.figs) + 1
        Gcf.figs[number] = Figure(**how)
    return Gcf.figs[number]
def get_fignums(): return list(Gcf.figs)
def close(which):
    for number, one in list(Gcf.figs.items()):
        if which in ('all', one): del Gcf.figs[number]`,
};

async function startDrawing(t: TestContext): Promise<Kernel> {
  const kernel = await startKernel(t);
  await mkdir(join(kernel.workspace, 'matplotlib'));
  for (const [name, code] of Object.entries(matplotlib)) {
    await writeFile(join(kernel.workspace, 'matplotlib', name), code);
  }
  await kernel.run('import matplotlib.pyplot as plt');
  return kernel;
}

test('a figure that cannot be drawn is told once, with its title, and costs neither the others nor later cells', async (t) => {
  await using kernel = await startDrawing(t);
  const drawn = await kernel.run(`for title in ('one', 'bad', 'three'): plt.figure(title=title)\n7`);
  assert.deepEqual(drawn.images, ['out/figure-2-1.png', 'out/figure-2-3.png']);
  const told = 'figure 2 of this cell ("bad") could not be drawn: no such glyph';
  assert.deepEqual([drawn.result, drawn.error?.name, drawn.error?.value], ['7', 'ValueError', told]);
  assert.deepEqual(await kernel.run('1 + 1'), { result: '2', error: null, images: [], cut: [] });
  const left = await kernel.run(
    'plt.figure(title="bad"); sorted(os.listdir("out")) if (os := __import__("os")) else 0',
  );
  assert.equal(left.result, "['figure-2-1.png', 'figure-2-3.png']");
  // The cell's own error comes first, and what could not be drawn is told beside it.
  const both = await kernel.run('plt.figure(title="bad")\n1 / 0');
  assert.equal(both.error?.name, 'ZeroDivisionError');
  assert.equal(
    (await kernel.end()).stderr.split('\n').filter((line) => line.includes('("bad") could not be drawn')).length,
    3,
  );
});

test('of a cell 100 figures are kept, and none that is too large; how many were left out is told', async (t) => {
  await using kernel = await startDrawing(t);
  const many = await kernel.run('for _ in range(10_000): plt.figure()');
  assert.deepEqual([many.images.length, many.error], [100, null]);
  const large = await kernel.run('for side in (1, 1_000, 1): plt.figure(size=(side, side))');
  assert.equal(large.images.length, 2);
  assert.match(
    large.error?.value ?? '',
    /^figure 2 of .*: it has 100,000 x 100,000 pixels, and 64,000,000 are the most$/,
  );
  assert.match((await kernel.end()).stderr, /^svc: 9,900 figures were left out: a cell keeps 100$/m);
});

test('no place for figures, and libraries that user code broke, are errors of that cell alone', async (t) => {
  await using kernel = await startDrawing(t);
  const full = await kernel.run('open("out", "w").close(); plt.figure(); 1');
  assert.deepEqual([full.result, full.error?.name], ['1', 'FileExistsError']);
  assert.equal((await kernel.run('import os, sys; sys.path = os.environ = None; 2')).result, '2');
  assert.deepEqual(await kernel.run('3'), { result: '3', error: null, images: [], cut: [] });
});

test('a result and an error of over 64 KiB end with a whole character, and are told as cut', async (t) => {
  await using kernel = await startKernel(t);
  const long = await kernel.run(`class Long:\n  def __repr__(self): return 'x' + 'ț' * 40_000\nLong()`);
  assert.deepEqual([long.result, long.cut], [`x${'ț'.repeat(32_767)}`, ['result']]);
  const failed = await kernel.run(`raise ValueError('x' + 'ț' * 40_000)`);
  assert.deepEqual([failed.error?.value, failed.cut], [`x${'ț'.repeat(32_767)}`, ['error']]);
  assert.deepEqual((await kernel.run(`'x' * 65_534`)).cut, []);
});

test('a child of os.fork() that comes out of its cell ends with its code, and answers nothing in the name of its parent', async (t) => {
  await using kernel = await startKernel(t);
  const coded = `import os
def code_of(leave):
    pid = os.fork()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if pid else leave()
def fail(): raise ValueError('of the child')
import sys
code_of(lambda: sys.exit(3)), code_of(lambda: sys.exit('said')), code_of(fail)`;
  assert.equal((await kernel.run(coded)).result, '(3, 1, 1)');
  assert.equal((await kernel.run('pid = os.fork()\npid and os.waitpid(pid, 0)[1]')).result, '0');
  // One that a task made, between cells too.
  const task = `import asyncio
async def divide():
    await asyncio.sleep(0)
    if pid := os.fork(): left.append(os.waitpid(pid, 0)[1])
left = []
task = asyncio.create_task(divide())`;
  await kernel.run(task);
  assert.equal((await kernel.run('await task; left')).result, '[0]');
  for (const number of [1, 2, 3]) assert.equal((await kernel.run(`${number}`)).result, `${number}`);
  assert.match(
    (await kernel.end()).stderr,
    /^said\nTraceback .*\n.*<cell 1>", line 7, in <module>\n[^]*ValueError: of the child\n$/,
  );
});

test('tasks, queues, locks and subprocesses of asyncio live across cells, and run on between them', async (t) => {
  await using kernel = await startKernel(t);
  const first = `import asyncio
ready, queue, lock = asyncio.Event(), asyncio.Queue(), asyncio.Lock()
async def work():
    while (one := await queue.get()) is not None: open(one, 'w').close()
    return 'done'
task = asyncio.create_task(work())
queue.put_nowait('between')`;
  assert.equal((await kernel.run(first)).error, null);
  // It is made while no cell runs.
  for (;;) if ((await readdir(kernel.workspace)).includes('between')) break;
  const second = `child = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
async with lock: child.stdin.write(b'line\\n')`;
  assert.equal((await kernel.run(second)).error, null);
  assert.equal((await kernel.run('await child.stdout.readline()')).result, "b'line\\n'");
  assert.equal(
    (await kernel.run('queue.put_nowait(None); child.kill(); await child.wait(), await task')).result,
    "(-9, 'done')",
  );
});

test('programs with loops of their own run in a cell: asyncio.run, run_until_complete, from a coroutine too', async (t) => {
  await using kernel = await startKernel(t);
  const code = `import asyncio
async def seven(): return await asyncio.sleep(0, 7)
async def nested(): return asyncio.run(seven())
loop = asyncio.new_event_loop()
[asyncio.run(seven()), asyncio.get_event_loop().run_until_complete(seven()), loop.run_until_complete(seven())]`;
  assert.equal((await kernel.run(code)).result, '[7, 7, 7]');
  assert.equal((await kernel.run('await nested()')).result, '7');
  assert.equal((await kernel.run('asyncio.get_event_loop().close(); 1')).result, '1');
  assert.equal((await kernel.run('await seven()')).result, '7');
});

test('an interrupt ends the cell that awaits and no task of others, and what leaves the loop between cells ends no kernel', async (t) => {
  await using kernel = await startKernel(t);
  const begun = async (name: string): Promise<void> => {
    for (;;) if ((await readdir(kernel.workspace)).includes(name)) return;
  };
  await kernel.run(`import asyncio
async def tick():
    for ticks in range(3): await asyncio.sleep(0.01)
    return 'lives'
async def leave(): raise SystemExit(5)
kept, left = asyncio.create_task(tick()), asyncio.create_task(leave())`);
  for (const wait of ['await asyncio.sleep(600)', 'while True: pass']) {
    const cell = kernel.run(`async def f():\n  ${wait}\nopen('${wait.slice(0, 5)}', 'w').close()\nawait f()`);
    await begun(wait.slice(0, 5));
    kernel.interrupt();
    const { error } = await cell;
    assert.deepEqual([error?.name, error?.traceback.includes('line 2, in f')], ['KeyboardInterrupt', true], wait);
    assert.doesNotMatch(error?.traceback ?? '', /kernel|base_events/);
  }
  assert.equal((await kernel.run('await kept')).result, "'lives'");
});

test('what notebooks write beside Python works: %magic, %%bash, !command and its lines', async (t) => {
  await using kernel = await startKernel(t);
  const cells: [code: string, result: string | null][] = [
    ['%matplotlib inline\n1', '1'],
    ['%time x = 6\n%time x * 7', '42'],
    ['%%time\nx = 7\nx', '7'],
    ['%timeit -n 3 -r 2 x + 1', null],
    ['import os\nhere = os.getcwd()\n%cd /\n%cd -\nos.getcwd() == here', 'True'],
    ['%env A=5\n%env B 6 7\n%env A', "'5'"],
    ['\n%%bash\nfor one in "$A" "$B"; do echo "said $one"; done > said', null],
    [`x = !cat said; echo "it's"\nif x: y, = !echo one\nx, y`, `(['said 5', 'said 6 7', "it's"], 'one')`],
    ['text = """\n%time\n!ls\n"""\n10 % 3, (5\n % 2), text.count("%")', '(1, 1, 1)'],
    ['display({"a": 1})\n!exit 3\n_exit_code', '3'],
  ];
  for (const [code, result] of cells) {
    const done = await kernel.run(code);
    assert.deepEqual([done.result, done.error], [result, null], code);
  }
  assert.equal((await kernel.run('%%bash\nexit 3')).error?.name, 'CalledProcessError');
  const failed = await kernel.run('def f():\n  return 1 / 0\n%time f()');
  assert.match(failed.error?.traceback ?? '', /<cell \d+>", line 3[^]*line 2, in f/);
  assert.doesNotMatch(failed.error?.traceback ?? '', /kernel/);
  assert.equal((await kernel.end()).stderr, '');
  assert.match(kernel.said.stdout, /Wall time: .*\n[^]* ± .* per loop [^]*\n\{'a': 1\}\n/);
});

test('a magic that there is not names those that there are, and a cell of something else is told so', async (t) => {
  await using kernel = await startKernel(t);
  const errorOf = async (code: string) => (await kernel.run(code)).error;
  const unknown = await errorOf('%load_ext autoreload\n1');
  assert.equal(unknown?.name, 'UsageError');
  assert.match(unknown?.value ?? '', /^there is no %load_ext here; there are %cd, %env, %matplotlib, .*, %%bash, /);
  assert.match((await errorOf('%%html\n<b>'))?.value ?? '', /^there is no %%html here; /);
  assert.equal((await errorOf('x = 1\n%%bash\nls'))?.value, '%%bash begins a cell: nothing may stand before it');
});

test('display makes a file of a figure, which is not made again at the end, and of what is a picture', async (t) => {
  await using kernel = await startDrawing(t);
  const shown = await kernel.run(`class Picture:
    def _repr_png_(self): return b'png'
display(plt.figure(title='one'), Picture(), Picture)
open('out/figure-2-1.png').read(), open('out/figure-2-2.png').read()`);
  assert.deepEqual([shown.images, shown.result], [['out/figure-2-1.png', 'out/figure-2-2.png'], "('one', 'png')"]);
});
