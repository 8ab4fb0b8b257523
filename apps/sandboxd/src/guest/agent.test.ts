import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** The output of a Python program that has the agent's modules. */
function python(program: string): string {
  const words = ['-B', '-c', `import sys; sys.path.insert(0, sys.argv[1])\n${program}`, import.meta.dirname];
  return execFileSync('python3', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 });
}

test('a descriptor that was used anew in a round does not get what its number was ready for', () => {
  const said = python(`
import os
from mux import READ, Loop
loop = Loop()
pairs = [os.pipe() for _ in range(2)]
def callback(mine, other):
    def called(_events):
        print('old')
        loop.watch(mine, 0, None)
        loop.watch(other, 0, None)
        read, write = os.pipe()
        os.dup2(read, other)
        loop.watch(other, READ, lambda _events: (print('new'), os._exit(0)))
        loop.after(0, lambda: os.write(write, b'x'))
        sys.stdout.flush()
    return called
(a, b) = (pairs[0][0], pairs[1][0])
loop.watch(a, READ, callback(a, b))
loop.watch(b, READ, callback(b, a))
for _, write in pairs: os.write(write, b'x')
loop.after(5, lambda: os._exit(1))
sys.stdout.reconfigure(line_buffering=True)
loop.run()`);
  assert.equal(said, 'old\nnew\n');
});

test('a fault in one conversation is told and ends that one only', () => {
  const said = python(`
import os
from mux import READ, Loop
loop = Loop()
class Bad:
    def read(self, _events): raise ValueError('bad')
    def failed(self):
        print('given up', flush=True)
        loop.watch(read, 0, None)
read, write = os.pipe()
os.write(write, b'x')
loop.watch(read, READ, Bad().read)
loop.after(0, lambda: 1 / 0)
loop.after(0.01, lambda: (print('goes on', flush=True), os._exit(0)))
loop.run()`);
  assert.equal(said, 'given up\ngoes on\n');
});

test('of files that are open and deleted ten are told, and how many more there are', () => {
  const said = python(`
import os, subprocess, tempfile
import system
place = os.path.realpath(tempfile.mkdtemp())
holder = '''
import os, sys, time
kept = [open(f'{sys.argv[1]}/{number}', 'w') for number in range(12)]
for file in kept: os.unlink(file.name)
print('held', flush=True)
time.sleep(600)'''
child = subprocess.Popen([sys.executable, '-c', holder, place], stdout=subprocess.PIPE)
child.stdout.readline()
found = system.deleted_files((place,))
child.kill()
os.rmdir(place)
print(len(found), found[-1])`);
  assert.equal(said, '11 2 more\n');
});
