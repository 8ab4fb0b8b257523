"""What notebooks write beside Python: `!command`, `%magic`, `%%bash` and `name?`, and `display`."""

import ast
import os
import re
import shlex
import subprocess
import sys
import time
import types

# A line that is no Python: `!command` or `%name …`, with a name before it that takes the value.
MAGIC = re.compile(r'^(\s*)([^\s=!%][^=!%]*=\s*)?(?:!(.+)|%(%?\w+)(.*))$', re.DOTALL)
HELP = re.compile(r'^(\s*)(?:\?\??([\w.]+)|([\w.]+)(\?\??))[ \t]*$')
# `{expression}` and `$name` of a command, and `{{` for a brace; of a shell's own `${name}` nothing.
VALUE = re.compile(r'(\{\{|\}\})|(?<!\$)\{([A-Za-z_][^{}]*)\}|\$(\$|[A-Za-z_]\w*)')
CELL = re.compile(r'\s*^%%(\w+)[ \t]*(.*)\n?([^\0]*)', re.MULTILINE)
# Linux refuses one argument over 128 KiB.
MOST_ARGUMENT = 120_000
REPEATS = 7
MOST_SHOWN = 1_000


class UsageError(Exception):
    """A magic that there is not, or that was asked for in a way it does not know."""


def parse(code, name):
    """
    The tree of a cell. A line that is no Python and begins with `!` or `%` is a command or a magic; what Python takes as
    it is, a text of several lines for example, is left alone. A cell that begins with `%%` is whole for what that names.
    """
    whole = CELL.fullmatch(code)
    if whole:
        return ast.parse(f'__svc_cell__{whole.groups()!r}', name)
    lines = without_indent(code.splitlines(True))
    for _ in range(len(lines) + 1):
        try:
            return ast.parse(''.join(lines), name)
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if not replace_magic(lines, at):
                raise
    raise SyntaxError('this cell has commands that are no lines of their own')


def without_indent(lines):
    """Without what all of a cell that was copied from within something is indented by."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith('#')), '')
    indent = first[:len(first) - len(first.lstrip())]
    if not indent:
        return lines
    return [line.removeprefix(indent) for line in lines]


def is_quiet(code):
    """Whether a cell ends with `;`: its value is not shown."""
    if ';' not in code.rstrip().rpartition('\n')[2]:
        return False
    import io
    import tokenize
    passed = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    last = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            last = last if token.type in passed else token.string
    except (tokenize.TokenError, SyntaxError):
        # Commands are no Python; they show no value either way.
        return False
    return last == ';'


def replace_magic(lines, at):
    """Makes a call of the command that begins on a line; false when none does. As many lines stay, for tracebacks."""
    if not 0 <= at < len(lines):
        return False
    last = at
    while lines[last].rstrip('\r\n').endswith('\\') and last + 1 < len(lines):
        last += 1
    text = ''.join(line.rstrip('\r\n').removesuffix('\\') + (' ' if i < last else '')
                   for i, line in enumerate(lines[at:last + 1], at))
    helped = HELP.match(text)
    if helped:
        space, name, other, marks = helped.groups()
        lines[at] = f'{space}__svc_help__({name or other!r}, {(marks or "?") == "??"})\n'
        return True
    found = MAGIC.match(text)
    if not found:
        return False
    space, target, shell, name, rest = found.groups()
    if shell:
        call = f'{"__svc_lines__" if target else "__svc_shell__"}({shell!r})'
    else:
        call = f'__svc_line__({name!r}, {rest.strip()!r})'
    lines[at] = f'{space}{target or ""}{call}\n'
    lines[at + 1:last + 1] = ['\n'] * (last - at)
    return True


class Magics:
    """`evaluate(code, name)` runs code in the namespace `names`, and gives the value of its last expression."""

    def __init__(self, names, figures, evaluate, changed):
        self.names, self.figures, self.evaluate, self.changed = names, figures, evaluate, changed
        self.before = os.getcwd()
        self.lines = {
            'cd': self.cd, 'env': self.env, 'matplotlib': lambda _: None, 'pip': self.pip, 'time': self.time,
            'timeit': self.timeit, 'who': self.who, 'whos': self.who,
        }
        self.cells = {
            'bash': self.bash, 'sh': self.bash, 'time': lambda _, code: self.time(code),
            'timeit': lambda words, code: self.timeit(words, code),
        }
        import builtins
        builtins.__svc_line__, builtins.__svc_cell__ = self.line, self.cell
        builtins.__svc_shell__, builtins.__svc_lines__ = self.shell, self.output
        builtins.display = self.display
        builtins.__svc_help__ = self.help
        shell = Shell(self)
        builtins.get_ipython = lambda: shell

    def line(self, name, rest, places=None):
        if name not in self.lines:
            raise self.unknown(name)
        # What is timed is Python, in which braces are its own.
        takes_values = name in ('cd', 'env', 'pip')
        return self.lines[name](expanded(rest, *(places or places_of(sys._getframe(1)))) if takes_values else rest)

    def cell(self, name, rest, code):
        if name not in self.cells:
            raise self.unknown(f'%{name}')
        return self.cells[name](rest, code)

    def unknown(self, name):
        known = [f'%{one}' for one in self.lines] + [f'%%{one}' for one in self.cells]
        if name.removeprefix('%') in self.cells:
            return UsageError(f'%{name} begins a cell: nothing may stand before it')
        return UsageError(f'there is no %{name} here; there are {", ".join(known)}, !command and x = !command')

    def command(self, words, **how):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        done = subprocess.run(words, **{'stdin': subprocess.DEVNULL, **how})
        self.names['_exit_code'] = done.returncode
        self.changed()
        return done

    def shell(self, command, places=None):
        self.command(['/bin/bash', '-c', expanded(command, *(places or places_of(sys._getframe(1))))])

    def output(self, command, places=None):
        """`x = !command`: the lines that it writes."""
        words = ['/bin/bash', '-c', expanded(command, *(places or places_of(sys._getframe(1))))]
        done = self.command(words, stdout=subprocess.PIPE)
        return done.stdout.decode('utf-8', 'replace').splitlines()

    def pip(self, words):
        self.command([sys.executable, '-m', 'pip', *shlex.split(words)])

    def bash(self, _words, code):
        if len(code.encode()) < MOST_ARGUMENT:
            done = self.command(['/bin/bash', '-c', code])
        else:
            done = self.command(['/bin/bash'], stdin=None, input=code.encode())
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, 'bash')

    def cd(self, path):
        path = path.strip('\'"') or '~'
        before = os.getcwd()
        os.chdir(self.before if path == '-' else os.path.expanduser(path))
        self.before = before
        print(os.getcwd())

    def env(self, words):
        """All of them, one, or `NAME=value` and `NAME value`, which set it."""
        name, _, value = words.partition('=' if '=' in words else ' ')
        if not words:
            return dict(os.environ)
        if not value and '=' not in words:
            return os.environ.get(name)
        os.environ[name.strip()] = value.strip()
        print(f'env: {name.strip()}={value.strip()}')
        return None

    def who(self, _words):
        """The names that the cells have made."""
        own = [name for name in self.names if not name.startswith('_')]
        print('\t '.join(sorted(own)) if own else 'Interactive namespace is empty.')

    def help(self, name, whole):
        """What `name?` tells, with its source for `name??`."""
        import inspect
        frame = sys._getframe(1)
        value = eval(name, frame.f_globals, frame.f_locals)
        try:
            print(f'Signature: {name}{inspect.signature(value)}')
        except (TypeError, ValueError):
            print(f'Value:     {repr(value)[:MOST_SHOWN]}')
        print(f'Type:      {type(value).__name__}')
        try:
            text = inspect.getsource(value) if whole else inspect.getdoc(value)
        except (OSError, TypeError):
            text = inspect.getdoc(value)
        print(text or 'There is no documentation.')

    def time(self, code):
        began, used = time.perf_counter(), os.times()
        try:
            return self.evaluate(code, '<time>')
        finally:
            wall, now = time.perf_counter() - began, os.times()
            user, system = now.user - used.user, now.system - used.system
            print(f'CPU times: user {span(user)}, sys: {span(system)}, total: {span(user + system)}')
            print(f'Wall time: {span(wall)}')

    def timeit(self, words, code=None):
        """`-n` runs of each of `-r` loops; of a whole cell its first line is what is done before each loop."""
        import timeit
        asked = {}
        while found := re.match(r'-([nr])\s*(\d+)\s*', words):
            asked[found[1]] = int(found[2])
            words = words[found.end():]
        timed, before = (words, 'pass') if code is None else (code, words or 'pass')
        timer = timeit.Timer(timed, before, globals=self.names)
        runs, repeats = asked.get('n') or timer.autorange()[0], asked.get('r') or REPEATS
        taken = [seconds / runs for seconds in timer.repeat(repeats, runs)]
        mean = sum(taken) / repeats
        spread = (sum((one - mean) ** 2 for one in taken) / repeats) ** 0.5
        print(f'{span(mean)} ± {span(spread)} per loop (mean ± std. dev. of {repeats} runs, {runs:,} loops each)')

    def display(self, *values, **_options):
        """Figures and pictures become files; of everything else its representation is printed."""
        for value in values:
            if not self.figures.show_value(value):
                print(repr(value))


class Formatters(dict):
    """Where libraries say how their values are shown: values are shown by `repr` here, and this is passed over."""

    def __missing__(self, _kind):
        return self

    def for_type(self, *_said):
        return None

    for_type_by_name = for_type


class Shell:
    """What `get_ipython()` gives: the parts of IPython's shell that cells and libraries call by themselves."""

    colors = 'NoColor'

    def __init__(self, magics):
        self.magics, self.user_ns = magics, magics.names
        self.places = (self.user_ns, self.user_ns)
        self.display_formatter = types.SimpleNamespace(formatters=Formatters(), active_types=[])

    def run_line_magic(self, name, line):
        return self.magics.line(name, line, self.places)

    def run_cell_magic(self, name, line, cell):
        return self.magics.cell(name, line, cell)

    def magic(self, line):
        name, _, rest = line.removeprefix('%').partition(' ')
        return self.magics.line(name, rest.strip(), self.places)

    def run_cell(self, code, **_options):
        return self.magics.evaluate(code, '<run_cell>')

    def ev(self, code):
        return eval(code, self.user_ns)

    def ex(self, code):
        exec(code, self.user_ns)

    def system(self, command):
        self.magics.shell(command, self.places)

    def getoutput(self, command):
        return self.magics.output(command, self.places)


def places_of(frame):
    return frame.f_globals, frame.f_locals


def expanded(text, names, own):
    """A command with the values of `{expression}` and `$name` in it; what is none in Python is left to the shell."""
    def value(found):
        brace, expression, name = found.groups()
        if brace:
            return brace[0]
        if name == '$':
            return '$'
        try:
            return str(eval(expression or name, names, own))
        except Exception:
            return found[0]
    return VALUE.sub(value, text)


def span(seconds):
    for factor, unit in ((1, 's'), (1e3, 'ms'), (1e6, 'µs')):
        if seconds * factor >= 1:
            return f'{seconds * factor:.3g} {unit}'
    return f'{seconds * 1e9:.3g} ns'
