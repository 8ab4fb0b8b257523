"""What is told of an exception of user code."""

import os
import sys
import traceback
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def is_ours(frames):
    return os.path.dirname(frames.tb_frame.f_code.co_filename) == HERE


def of_user(frames):
    """What a traceback tells of user code: no frame of these files or the loop above it, nothing below a command."""
    kept = []
    while frames is not None:
        if not is_ours(frames):
            if kept or not frames.tb_frame.f_globals.get('__name__', '').startswith('asyncio.'):
                kept.append(frames)
        elif frames.tb_frame.f_code.co_name == 'command':
            break
        frames = frames.tb_next
    following = None
    for one in reversed(kept):
        following = types.TracebackType(following, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return following


def describe(error):
    """Name, text and traceback of an exception; frames of these files are nobody's business."""
    try:
        frames = of_user(error.__traceback__)
        text = ''.join(traceback.format_exception(type(error), error.with_traceback(frames), frames))
        value = str(error)
    except BaseException:
        text = value = ''
    return {'name': type(error).__name__, 'value': value, 'traceback': text}


def end_child(error=None):
    """A child of os.fork() that leaves its cell ends, as a program does at its end: with its error, or its code."""
    code = 0 if error is None else 1
    told = ''
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        told = '' if error.code is None or isinstance(error.code, int) else f'{error.code}\n'
    elif error is not None:
        told = describe(error)['traceback']
    try:
        sys.stderr.write(told)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)
