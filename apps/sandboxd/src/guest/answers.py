"""What the Python kernel answers, read: it runs user code, so nothing that it says is taken as it is."""


def text_of(value):
    if not isinstance(value, str):
        return None
    return value.encode('utf-8', 'replace')[:65_536].decode('utf-8', 'ignore')


def list_of(value):
    return value if isinstance(value, list) else []


def images_of(value):
    images = list_of(value)
    return [image[:1024] for image in images[:100] if isinstance(image, str)]


def error_of(value):
    if not isinstance(value, dict):
        return None
    return {name: text_of(value.get(name)) or '' for name in ('name', 'value', 'traceback')}


def marked(kept, lost):
    """What was written between cells, with lines around it that say so."""
    if not kept:
        return b''
    left_out = f', of which the first {lost:,} bytes are left out' if lost else ''
    end = b'' if kept.endswith(b'\n') else b'\n'
    return f'[written between the cells{left_out}]\n'.encode() + kept + end + b'[this cell]\n'
