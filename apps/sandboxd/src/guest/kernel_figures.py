"""Figures that a cell draws become files of the workspace, each by itself: one that fails costs no other."""

import os
import sys

# Where the kernel starts.
WORKSPACE = os.getcwd()
OUT = f'{WORKSPACE}/out'
# Files of one cell; the answer names no more.
MOST_FIGURES = 100
# Of one picture, 256 MB while it is drawn: a quarter of the memory that the smallest sandbox has.
MOST_PIXELS = 64_000_000
MOST_REASON = 500
MOST_TITLE = 60


class Figures:
    """What the cells draw. Numbers count the figures of a cell, in the order in which they are stored."""

    def __init__(self, changes):
        self.begin(0)
        # What plt.show() calls for each figure that is open, and fig.show() for its own, where there is no screen.
        def change(module):
            module.FigureManagerBase.show = self.shower()

        changes.after('matplotlib.backend_bases', change)

    def begin(self, cell):
        self.cell, self.count, self.left_out = cell, 0, 0
        self.images = []
        # The exception that the first one failed with.
        self.failure = None

    def shower(self):
        def show(manager):
            """Stores the figure, and closes it: what is drawn next is a picture of its own."""
            try:
                self.store(manager.canvas.figure)
            finally:
                close(sys.modules.get('matplotlib.pyplot'), manager.num)
        return show

    def end(self):
        """Stores what is open, in the order in which it was made, and closes all of it, whatever happens."""
        pyplot = sys.modules.get('matplotlib.pyplot')
        # One that failed to import, or is a module of somebody else by that name, has none.
        numbers = getattr(pyplot, 'get_fignums', list)()
        try:
            kept = numbers[:max(0, MOST_FIGURES - self.count)]
            for number in kept:
                self.store(pyplot.figure(number))
            self.left_out += len(numbers) - len(kept)
        finally:
            if numbers:
                close(pyplot, 'all')
        if self.left_out:
            count = 'figure was' if self.left_out == 1 else 'figures were'
            tell(f'{self.left_out:,} {count} left out: a cell keeps {MOST_FIGURES}')

    def store(self, figure):
        """Makes a file of a figure, or tells why there is none."""
        self.add(lambda path: draw(figure, path), lambda: title_of(figure))

    def show_value(self, value):
        """Whether a value is a figure or a picture; it is a file then."""
        pyplot = sys.modules.get('matplotlib.pyplot')
        if isinstance(value, getattr(pyplot, 'Figure', ())):
            try:
                self.store(value)
            finally:
                close(pyplot, value)
            return True
        picture = getattr(value, '_repr_png_', None)
        data = picture() if callable(picture) and not isinstance(value, type) else None
        if isinstance(data, bytes):
            self.add(lambda path: write(path, data), lambda: '')
        return isinstance(data, bytes)

    def add(self, make, title):
        self.count += 1
        if self.count > MOST_FIGURES:
            self.left_out += 1
            return
        path = None
        try:
            os.makedirs(OUT, exist_ok=True)
            path = fresh(f'{OUT}/figure-{self.cell}-{self.count}')
            make(path)
            self.images.append(os.path.relpath(path, WORKSPACE))
        except Exception as error:
            # A part of a picture is none.
            remove(path)
            reason = str(error).strip()[:MOST_REASON]
            said = f'figure {self.count} of this cell{title()} could not be drawn: {reason}'
            tell(said)
            self.failure = self.failure or (error, said)
        except BaseException:
            remove(path)
            raise


def draw(figure, path):
    """Writes a picture with all that the figure has, or of its own size where something lies too far outside."""
    dpi = sys.modules['matplotlib'].rcParams['savefig.dpi']
    dpi = figure.dpi if dpi == 'figure' else dpi
    width, height = (side * dpi for side in figure.get_size_inches())
    if width * height > MOST_PIXELS:
        raise ValueError(f'it has {width:,.0f} x {height:,.0f} pixels, and {MOST_PIXELS:,} are the most')
    figure.draw_without_rendering()
    box = figure.get_tightbbox().padded(sys.modules['matplotlib'].rcParams['savefig.pad_inches'])
    if not box.width * box.height * dpi * dpi <= MOST_PIXELS:
        box = figure.bbox_inches
    figure.savefig(path, format='png', bbox_inches=box)


def write(path, data):
    with open(path, 'wb') as file:
        file.write(data)


def title_of(figure):
    """Its title in brackets; empty when it has none."""
    try:
        titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        title = next((' '.join(title.split()) for title in titles if title.strip()), '')
        return f' ("{title[:MOST_TITLE]}")' if title else ''
    except Exception:
        return ''


def close(pyplot, which):
    """Closes figures; what user code hung on that may fail, and stops nothing."""
    try:
        pyplot.close(which)
    except Exception:
        figures = sys.modules['matplotlib._pylab_helpers'].Gcf.figs
        for number, manager in list(figures.items()):
            if which in ('all', number, manager.canvas.figure):
                del figures[number]


def tell(text):
    try:
        sys.stderr.write(f'svc: {text}\n')
    except Exception:
        # Closed, or what user code put in its place.
        pass


def remove(path):
    try:
        if path:
            os.unlink(path)
    except OSError:
        pass


def fresh(stem):
    """A name that no file has: cells are counted anew after a restart, and figures of before stay."""
    path, number = f'{stem}.png', 2
    while os.path.lexists(path):
        path, number = f'{stem}-{number}.png', number + 1
    return path
