"""The Python kernel: runs cells in one namespace. Requests and answers are JSON lines on two descriptors of its own."""

import ast
import json
import linecache
import os
import signal
import sys
import types

from kernel_errors import describe, end_child
from kernel_figures import Figures
from kernel_imports import Changes
from kernel_loop import EventLoop
from kernel_magics import Magics, is_quiet, parse

MOST_TEXT = 65_536
CHUNK = 65_536


def cut(text):
    data = text.encode('utf-8', 'replace')
    return text if len(data) <= MOST_TEXT else data[:MOST_TEXT].decode('utf-8', 'ignore')


def bounded(answer):
    """The texts of an answer at their limit, and the names of those that were longer."""
    result, error = answer['result'], answer['error']
    short = {
        'result': None if result is None else cut(result),
        'error': error and {key: cut(text) for key, text in error.items()},
    }
    return {**short, 'cut': [name for name, text in short.items() if text != answer[name]]}


def find_packages():
    """What was installed meanwhile is found: the user's base may not have been there when Python started."""
    import site
    base = site.getusersitepackages()
    if site.ENABLE_USER_SITE and base not in sys.path and os.path.isdir(base):
        site.addsitedir(base)


def refresh():
    """After a command, which may have installed something."""
    import importlib
    attempt(find_packages)
    importlib.invalidate_caches()


class Session:
    def __init__(self):
        module = types.ModuleType('__main__')
        module.__dict__['__builtins__'] = __builtins__
        sys.modules['__main__'] = module
        self.names = module.__dict__
        self.count = 0
        changes = Changes()
        self.figures, self.events = Figures(changes), EventLoop(changes)
        self.pid = os.getpid()
        self.magics = Magics(self.names, self.figures, self.evaluate, refresh)
        self.running = False
        sys.argv = ['']
        sys.path[0] = ''

    def run(self, code, env):
        self.count += 1
        name = f'<cell {self.count}>'
        answer = {'result': None, 'error': None, 'images': []}
        self.figures.begin(self.count)
        try:
            self.running = True
            self.events.begin()
            attempt(lambda: os.environ.update(env))
            attempt(find_packages)
            value = self.evaluate(code, name)
            if value is not None:
                self.remember(value)
                attempt(lambda: self.figures.show_value(value))
                answer['result'] = repr(value)
        except BaseException as error:
            if os.getpid() != self.pid:
                end_child(error)
            answer['error'] = describe(error)
        if os.getpid() != self.pid:
            end_child()
        try:
            self.events.end()
            self.figures.end()
            if self.figures.failure and answer['error'] is None:
                error, said = self.figures.failure
                answer['error'] = {**describe(error), 'value': said}
        except BaseException as error:
            answer['error'] = answer['error'] or describe(error)
        answer['images'] = self.figures.images
        self.running = False
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        return {**answer, **bounded(answer)}

    def remember(self, value):
        """The last three values are `_`, `__` and `___`."""
        for older, newer in (('___', '__'), ('__', '_')):
            if newer in self.names:
                self.names[older] = self.names[newer]
        self.names['_'] = value

    def interrupted(self, _number, frame):
        """One that comes too late for its cell is none for the next."""
        if self.running and not self.events.cancel(frame):
            raise KeyboardInterrupt

    def evaluate(self, code, name):
        """The value of the last expression."""
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.execute(compile(tree, name, 'exec', flags))
        value = None if last is None else self.execute(compile(ast.Expression(last.value), name, 'eval', flags))
        return None if is_quiet(code) else value

    def execute(self, code):
        """Evaluates; what awaits at its top level runs in the loop of all cells."""
        import inspect
        value = eval(code, self.names)
        if inspect.iscoroutine(value) and code.co_flags & inspect.CO_COROUTINE:
            return self.events.run(value)
        return value


def reseed():
    """After a restore: forks of one snapshot must not draw the same numbers. The seed of hashes stays, it is fixed at start."""
    import random
    attempt(random.seed)
    openssl = sys.modules.get('_ssl')
    if openssl is not None:
        # Seeds OpenSSL's first generator anew, also from the system; those of every thread follow it with their next number.
        attempt(lambda: openssl.RAND_add(os.urandom(32), 0.0))
    numpy = sys.modules.get('numpy')
    if numpy is not None and 'numpy.random' in sys.modules:
        attempt(lambda: numpy.random.seed())


def attempt(call):
    """What user code has put in the place of a library fails by itself, and the kernel goes on."""
    try:
        call()
    except Exception:
        pass


def warm(modules):
    for name in modules:
        attempt(lambda: __import__(name))


class Requests:
    """Lines of a descriptor; what the cells have left in their loop runs while one is waited for."""

    def __init__(self, fd, events):
        self.fd, self.events = fd, events
        self.inbox = bytearray()

    def next(self):
        """The next one; None at the end."""
        while b'\n' not in self.inbox:
            self.events.wait(self.fd)
            data = os.read(self.fd, CHUNK)
            if not data:
                return None
            self.inbox += data
        line, _, self.inbox = self.inbox.partition(b'\n')
        return json.loads(line)


def answer_to(session, request):
    if request['op'] == 'run':
        return session.run(request['code'], request['env'])
    if request['op'] == 'warm':
        warm(request['modules'])
    else:
        reseed()
    return {'done': True}


def main():
    source, answers = int(sys.argv[1]), int(sys.argv[2])
    for fd in (source, answers):
        os.set_inheritable(fd, False)
    session = Session()
    requests = Requests(source, session.events)

    def forked():
        """Nothing that a child does is heard as an answer, or takes a request."""
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (source, answers):
            os.dup2(null, fd, inheritable=False)
        os.close(null)

    os.register_at_fork(after_in_child=forked)
    signal.signal(signal.SIGINT, session.interrupted)
    while True:
        try:
            request = requests.next()
            if request is None:
                return
            data = json.dumps(answer_to(session, request)).encode() + b'\n'
            while data:
                data = data[os.write(answers, data):]
        except KeyboardInterrupt:
            # It came too late for the cell that it was meant for.
            continue


main()
