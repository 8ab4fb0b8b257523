"""What the agent asks of the kernel directly, and what it reads from /proc."""

import ctypes
import os
import resource
import signal

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def hide():
    """Nobody may trace this process or read its memory and descriptors, also not with the same uid (bubblewrap)."""
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_capabilities():
    """Gives up every capability; for an agent that is no root and only had to bind a low port."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    _libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    _libc.capset(header, data)


def processes():
    """Every other process: pid -> (parent, session, threads, resident bytes)."""
    found = {}
    page = os.sysconf('SC_PAGE_SIZE')
    for name in os.listdir('/proc'):
        if not name.isdigit() or name == '1':
            continue
        try:
            with open(f'/proc/{name}/stat', 'rb', buffering=0) as file:
                fields = file.read(4096).rsplit(b')', 1)[1].split()
        except (OSError, IndexError):
            continue
        # The dead that nobody waited for count too: the limit of processes does.
        found[int(name)] = (int(fields[1]), int(fields[3]), int(fields[17]), int(fields[21]) * page)
    return found


def alive():
    """Every other process that did not end: pid -> name, by pid."""
    found = {}
    for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit() and name != '1'):
        try:
            with open(f'/proc/{pid}/stat', 'rb', buffering=0) as file:
                name, rest = file.read(4096).split(b'(', 1)[1].rsplit(b')', 1)
        except (OSError, IndexError, ValueError):
            continue
        # A dead one only waits for its parent to look.
        if rest.split()[0] not in (b'Z', b'X'):
            found[pid] = name.decode('utf-8', 'replace')
    return found


def memory_taken():
    """Bytes that are in use, what processes share counted once; on v1 those of the whole machine, which are never fewer."""
    with open('/proc/meminfo', 'rb') as file:
        sizes = dict(line.split(b':', 1) for line in file)
    return (int(sizes[b'MemTotal'].split()[0]) - int(sizes[b'MemFree'].split()[0])) * 1024


def count():
    """How many processes there are, those that nobody waited for too."""
    return sum(name.isdigit() for name in os.listdir('/proc'))


def mark_children(mark):
    """
    Gives what is started from now on a limit of file sizes that tells it apart: every process inherits it, also one whose
    parent is gone, and none can raise it again. A mark is lower than every one before it. No file is ever as large.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (mark, mark))


def mark_of(pid):
    """The limit of file sizes of a process; None when it is gone."""
    try:
        with open(f'/proc/{pid}/limits', 'rb', buffering=0) as file:
            lines = file.read(4096).splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(b'Max file size'):
            return line.split()[4]
    return None


def is_marked(pid, mark):
    return mark_of(pid) == b'%d' % mark


def kill_session(leader):
    """
    Ends every process of a session, all that descend from its leader, whichever session they made for themselves, and
    all that bear its mark: what forked twice has no parent that leads to the leader.
    """
    session = leader.pid
    # They are stopped first, and killed once all are known: what the dead leave behind is a child of ours, and nobody
    # could tell any more whose it was. Most of it, or all of a bomb, in one call: each further one may wait for its turn.
    _kill(os.killpg, session, signal.SIGSTOP)
    doomed = set()
    for _ in range(50):
        table = processes()
        found = {pid for pid, (_, sid, _, _) in table.items() if sid == session or pid == session or pid in doomed}
        found |= {pid for pid in table if pid not in found and is_marked(pid, leader.mark)}
        while True:
            more = {pid for pid, (parent, _, _, _) in table.items() if parent in found} - found
            if not more:
                break
            found |= more
        fresh = found - doomed
        if not fresh:
            break
        for pid in fresh:
            _kill(os.kill, pid, signal.SIGSTOP)
        doomed |= fresh
    _kill(os.killpg, session, signal.SIGKILL)
    for pid in doomed:
        _kill(os.kill, pid, signal.SIGKILL)


def _kill(call, target, number):
    try:
        call(target, number)
    except OSError:
        pass


def state_of(pid):
    try:
        with open(f'/proc/{pid}/stat', 'rb', buffering=0) as file:
            return file.read(4096).rsplit(b')', 1)[1].split()[0]
    except (OSError, IndexError):
        return b''


def standing():
    """The processes that stand still."""
    pids = [int(name) for name in os.listdir('/proc') if name.isdigit() and name != '1']
    return {pid for pid in pids if state_of(pid) == b'T'}


def stop_all():
    """Stops every process but this one, what is forked meanwhile included."""
    seen = -1
    for _ in range(10):
        _kill(os.kill, -1, signal.SIGSTOP)
        if seen == (seen := count()):
            break


def continue_all(but=()):
    """Lets everything go on that was stopped, but these."""
    if not but:
        _kill(os.kill, -1, signal.SIGCONT)
        return
    for name in os.listdir('/proc'):
        if name.isdigit() and name != '1' and int(name) not in but:
            _kill(os.kill, int(name), signal.SIGCONT)


def deleted_files(below):
    """
    Files below these directories that some process uses though they are deleted or another has their name: no snapshot can
    bring them back. At most ten, each with its process, and how many more there are.
    """
    found = []
    for pid in os.listdir('/proc'):
        if pid.isdigit() and pid != '1':
            roots = tuple(f'{root}/' for root in below)
            used = sorted(set(_lost_links(pid, roots)) | set(_lost_mappings(pid, roots)))
            found += [f'{path} ({name_of(pid)}, process {pid})' for path in used]
    return found[:10] + ([f'{len(found) - 10} more'] if len(found) > 10 else [])


def name_of(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read(64).strip()
    except OSError:
        return '?'


GONE = ' (deleted)'


def _lost_links(pid, below):
    """What it has open, and where it stands."""
    try:
        links = [f'/proc/{pid}/fd/{fd}' for fd in os.listdir(f'/proc/{pid}/fd')]
    except OSError:
        return
    for link in [f'/proc/{pid}/cwd', *links]:
        try:
            target = os.readlink(link)
            if not target.startswith(below):
                continue
            stat = os.stat(link)
            lost = target.endswith(GONE) or stat.st_nlink == 0 or not os.path.lexists(target)
        except OSError:
            continue
        if lost:
            yield target.removesuffix(GONE)


def _lost_mappings(pid, below):
    """What it has mapped, a program or library for example; the descriptor may be closed by then."""
    try:
        with open(f'/proc/{pid}/maps', encoding='utf-8', errors='surrogateescape') as file:
            lines = [line.rstrip('\n').split(None, 5) for line in file]
    except OSError:
        return
    for path in {words[5] for words in lines if len(words) == 6 and words[5].startswith(below)}:
        if path.endswith(GONE) or not os.path.lexists(path):
            yield path.removesuffix(GONE)


def exit_code(status):
    """The status that a shell would show: 128 + n when signal n ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def announce(path, source=None):
    """
    Makes watchers hear of a file that was written from outside: gVisor tells them only of what is done inside. A fresh file
    gets its name here; one that was there is touched, and closed after writing.
    """
    try:
        if source is not None:
            os.rename(source, path)
            return True
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.utime(fd)
        finally:
            os.close(fd)
        return True
    except OSError:
        return False
