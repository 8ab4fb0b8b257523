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


def count():
    """How many processes there are, those that nobody waited for too."""
    return sum(name.isdigit() for name in os.listdir('/proc'))


def mark_children(mark):
    """
    Gives what is started from now on a limit of file sizes that tells it apart: every process inherits it, also one whose
    parent is gone, and none can raise it again. A mark is lower than every one before it. No file is ever as large.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (mark, mark))


def is_marked(pid, mark):
    try:
        with open(f'/proc/{pid}/limits', 'rb', buffering=0) as file:
            lines = file.read(4096).splitlines()
    except OSError:
        return False
    return any(line.startswith(b'Max file size') and line.split()[4] == b'%d' % mark for line in lines)


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


def deleted_files(below):
    """
    Paths below a directory that some process holds open though they are deleted: no snapshot can bring them back. At
    most ten, and how many more there are.
    """
    found = []
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or pid == '1':
            continue
        try:
            for fd in os.listdir(f'/proc/{pid}/fd'):
                link = f'/proc/{pid}/fd/{fd}'
                target = os.readlink(link)
                if not target.startswith(below + '/'):
                    continue
                if target.endswith(' (deleted)') or os.stat(link).st_nlink == 0 or not os.path.lexists(target):
                    found.append(target)
        except OSError:
            continue
    return found[:10] + ([f'{len(found) - 10} more'] if len(found) > 10 else [])


def exit_code(status):
    """The status that a shell would show: 128 + n when signal n ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
