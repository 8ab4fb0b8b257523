"""The guest agent: PID 1 of every sandbox. It speaks frames over its own stdin and stdout and decides nothing."""

import os
import resource
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import json  # noqa: E402
import math  # noqa: E402

import system  # noqa: E402
from aftermath import Aftermath  # noqa: E402
from execs import Exec  # noqa: E402
from kernels import Kernels  # noqa: E402
from mux import READ, Loop, Mux, Owner  # noqa: E402
from names import Names  # noqa: E402
from start import Start  # noqa: E402
from terminal import Terminal  # noqa: E402
from tunnel import Port, Proxy  # noqa: E402
from watch import Watch  # noqa: E402

PROXY = 'http://127.0.0.1:8080'
HOME = '/home/user'
# What is installed for the user is on the volume of the workspace: HOME is memory, and small.
BASE = f'{HOME}/.local'
# Directories of the volume: no snapshot brings back what is open there and was deleted.
VOLUMES = ('/workspace', BASE)
# Packages of the image, and what makes `import` find them too: NODE_PATH counts for require() alone.
MODULES = '/usr/local/lib/node_modules'
IMPORTS = '/usr/local/lib/svc/imports.cjs'
# Marks of commands count down from here: sizes that no file has.
FIRST_MARK = 1 << 62


# What package managers keep in places of their own below HOME otherwise, and that fills it.
CACHES = {
    'npm_config_cache': f'{BASE}/share/npm', 'YARN_CACHE_FOLDER': f'{BASE}/share/yarn',
    'UV_CACHE_DIR': f'{BASE}/share/uv-cache', 'GOPATH': f'{BASE}/share/go',
    'CARGO_HOME': f'{BASE}/share/cargo', 'RUSTUP_HOME': f'{BASE}/share/rustup',
}


def environment(cores):
    """What user code finds in its environment; the proxy is the only way out there is."""
    proxies = {name: PROXY for name in ('HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy')}
    return {
        'PATH': f'{BASE}/bin:{BASE}/share/cargo/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin',
        'HOME': HOME, 'USER': 'user', 'LOGNAME': 'user', 'SHELL': '/bin/bash', 'LANG': 'C.UTF-8', 'TERM': 'dumb',
        **proxies, 'ALL_PROXY': 'socks5h://127.0.0.1:8080', 'NO_PROXY': 'localhost,127.0.0.1,::1',
        'no_proxy': 'localhost,127.0.0.1,::1', 'NODE_USE_ENV_PROXY': '1',
        # Without PIP_USER: pip falls back to the user's base by itself, and a plain venv refuses --user.
        'PIP_PROXY': PROXY, 'PIP_BREAK_SYSTEM_PACKAGES': '1', 'PIP_DISABLE_PIP_VERSION_CHECK': '1',
        'PIP_NO_CACHE_DIR': '1', 'PYTHONUSERBASE': BASE,
        'npm_config_proxy': PROXY, 'npm_config_https_proxy': PROXY, 'npm_config_prefix': BASE,
        'npm_config_update_notifier': 'false', 'npm_config_fund': 'false', 'npm_config_audit': 'false',
        **CACHES,
        'NODE_PATH': MODULES, **({'NODE_OPTIONS': f'--require={IMPORTS}'} if os.path.exists(IMPORTS) else {}),
        'MPLBACKEND': 'Agg',
        # nproc and numeric libraries go by this; in bubblewrap they would see the cores of the machine.
        'OMP_NUM_THREADS': str(cores),
    }


class Agent:
    def __init__(self, options):
        self.uid = options['uid']
        self.is_root = os.getuid() == 0
        self.limits = options
        cores = max(1, math.ceil(options['cpus']))
        self.env = environment(cores)
        self.children = {}
        # Processes that a limit ended: pid -> which limit, in words.
        self.ended = {}
        # Processes that stood still before `freeze` stopped the others; None while nothing is frozen.
        self.standing = None
        self.mark = FIRST_MARK
        self.loop = Loop()
        self.aftermath = Aftermath(self.loop)
        # The frames keep the real descriptors; nothing that is started here can meet them.
        source, sink = os.dup(0), os.dup(1)
        null = os.open('/dev/null', os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        self.reap_on_signal()
        self.mux = Mux(self.loop, source, sink, self.accept)
        self.kernels = Kernels(self)
        self.proxy = Proxy(self)
        self.names = Names(self.loop)
        if self.is_root:
            # gVisor shows these and schedules as it likes; what it starts has them from the beginning.
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        else:
            system.drop_capabilities()
        self.watch = Watch(self, options['memory_bytes'], options['processes'])
        self.start = Start(self)

    def reap_on_signal(self):
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        # Handlers, since what is ignored stays ignored in children.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, lambda *_: None)

        def reap(_events):
            try:
                os.read(read, 4096)
            except BlockingIOError:
                pass
            self.reap()

        self.loop.watch(read, READ, reap)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.aftermath.reaped(pid, status)
            callback = self.children.pop(pid, None)
            if callback:
                self.loop.call(callback, status)
            self.ended.pop(pid, None)

    def accept(self, channel, payload):
        channel.owner = Owner()
        kind = payload['kind']
        if kind == 'exec':
            Exec(self, channel, payload)
        elif kind == 'code':
            self.kernels.run(channel, payload)
        elif kind == 'port':
            Port(self.loop, channel, payload['port'])
        elif kind == 'terminal':
            Terminal(self, channel, payload)
        elif kind == 'reset':
            self.kernels.reset()
            channel.close({})
        elif kind == 'lost':
            self.kernels.lost = str(payload['reason'])
            channel.close({})
        elif kind == 'warm':
            self.kernels.warm(channel, payload['modules'])
        elif kind == 'look':
            channel.close({'deleted': system.deleted_files(VOLUMES)})
        elif kind == 'freeze':
            self.proxy.freeze()
            # Nothing runs on while its memory is written: a snapshot and the files are of one instant.
            if self.standing is None:
                self.standing = system.standing()
            system.stop_all()
            self.aftermath.remember()
            channel.close({'deleted': system.deleted_files(VOLUMES)})
        elif kind == 'unfreeze':
            self.go_on()
            channel.close({})
        elif kind == 'thaw':
            self.thaw(channel)
        elif kind == 'ended':
            self.aftermath.tell(channel)
        elif kind == 'started':
            self.start.wait(channel)
        elif kind == 'announce':
            channel.close({'announced': system.announce(payload['path'], payload.get('from'))})
        elif kind == 'ping':
            channel.close({})
        else:
            channel.close({'error': {'code': 'bad_request', 'message': f'unknown kind {kind}'}})

    def go_on(self):
        if self.standing is not None:
            system.continue_all(self.standing)
        self.standing = None
        self.proxy.thaw()

    def thaw(self, channel):
        """After a restore: whom an open channel talked to is not there any more."""
        for other in list(self.mux.channels.values()):
            if other is not channel:
                other.open = False
                del self.mux.channels[other.number]
                other.owner.closed({})
        self.aftermath.begin()
        self.go_on()
        self.kernels.thaw(channel)


def main():
    os.umask(0o022)
    system.hide()
    options = json.loads(sys.argv[1])
    os.makedirs(HOME, exist_ok=True)
    if os.getuid() == 0:
        # The runtime makes it for the mount of BASE, for everybody.
        os.chmod(HOME, 0o755)
        os.chown(HOME, options['uid'], options['uid'])
        # The agent needs root's uid alone; what it starts has these from the beginning.
        os.setgroups([])
        os.setresgid(options['uid'], options['uid'], options['uid'])
    else:
        resource.setrlimit(resource.RLIMIT_NPROC, (options['processes'], options['processes']))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    agent = Agent(options)
    agent.loop.run()


main()
