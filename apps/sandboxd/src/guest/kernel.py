"""The Python kernel: runs cells in one namespace. Requests and answers are JSON lines on two descriptors of its own."""

import ast
import json
import linecache
import os
import sys
import traceback

MOST_TEXT = 65_536
OUT = '/workspace/out'


def cut(text):
    data = text.encode('utf-8', 'replace')
    return text if len(data) <= MOST_TEXT else data[:MOST_TEXT].decode('utf-8', 'ignore')


class Session:
    def __init__(self):
        import types
        module = types.ModuleType('__main__')
        module.__dict__['__builtins__'] = __builtins__
        sys.modules['__main__'] = module
        self.names = module.__dict__
        self.count = 0
        sys.argv = ['']
        sys.path[0] = ''

    def run(self, code):
        self.count += 1
        name = f'<cell {self.count}>'
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        answer = {'result': None, 'error': None, 'images': []}
        try:
            tree = ast.parse(code, name)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            self.execute(compile(tree, name, 'exec', flags))
            if last is not None:
                value = self.execute(compile(ast.Expression(last.value), name, 'eval', flags))
                if value is not None:
                    self.names['_'] = value
                    answer['result'] = cut(repr(value))
        except BaseException as error:
            answer['error'] = describe(error)
        try:
            answer['images'] = self.figures()
        except BaseException as error:
            answer['error'] = answer['error'] or describe(error)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        return answer

    def execute(self, code):
        """Evaluates; a cell that awaits at its top level gets a loop."""
        import inspect
        value = eval(code, self.names)
        if inspect.iscoroutine(value) and code.co_flags & inspect.CO_COROUTINE:
            import asyncio
            return asyncio.run(value)
        return value

    def figures(self):
        pyplot = sys.modules.get('matplotlib.pyplot')
        if pyplot is None or not pyplot.get_fignums():
            return []
        os.makedirs(OUT, exist_ok=True)
        made = []
        for number in pyplot.get_fignums():
            path = f'{OUT}/figure-{self.count}-{number}.png'
            pyplot.figure(number).savefig(path, format='png', bbox_inches='tight')
            made.append(os.path.relpath(path, '/workspace'))
        pyplot.close('all')
        return made


def describe(error):
    """Name, text and traceback of an exception; frames of this file are nobody's business."""
    try:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error.with_traceback(frames), frames)
        text, value = ''.join(lines), str(error)
    except BaseException:
        text = value = ''
    return {'name': type(error).__name__, 'value': cut(value), 'traceback': cut(text)}


def reseed():
    """After a restore: forks of one snapshot must not draw the same numbers. The seed of hashes stays, it is fixed at start."""
    import random
    random.seed()
    openssl = sys.modules.get('_ssl')
    if openssl is not None:
        # Seeds OpenSSL's first generator anew, also from the system; those of every thread follow it with their next number.
        openssl.RAND_add(os.urandom(32), 0.0)
    numpy = sys.modules.get('numpy')
    if numpy is not None and 'numpy.random' in sys.modules:
        numpy.random.seed()


def warm(modules):
    for name in modules:
        try:
            __import__(name)
        except ImportError:
            pass


def main():
    requests = os.fdopen(int(sys.argv[1]), 'rb', closefd=False)
    answers = int(sys.argv[2])
    for fd in (int(sys.argv[1]), answers):
        os.set_inheritable(fd, False)
    session = Session()
    while True:
        try:
            line = requests.readline()
            if not line:
                return
            request = json.loads(line)
            if request['op'] == 'run':
                os.environ.update(request['env'])
                answer = session.run(request['code'])
            elif request['op'] == 'warm':
                warm(request['modules'])
                answer = {'done': True}
            else:
                reseed()
                answer = {'done': True}
            data = json.dumps(answer).encode() + b'\n'
            while data:
                data = data[os.write(answers, data):]
        except KeyboardInterrupt:
            # It came too late for the cell that it was meant for.
            continue


main()
