"""Changes to modules that user code imports, made when it does: until then they cost neither time nor memory."""

import importlib.machinery
import sys


class Changes:
    """A finder before all others that finds nothing by itself."""

    def __init__(self):
        self.wanted = {}
        sys.meta_path.insert(0, self)

    def after(self, name, change):
        """Calls `change(module)` once the module of that name is loaded."""
        self.wanted[name] = change
        if name in sys.modules:
            change(sys.modules[name])

    def find_spec(self, name, path=None, target=None):
        change = self.wanted.get(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if change else None
        load = getattr(spec and spec.loader, 'exec_module', None)
        if load is None:
            return None

        def exec_module(module):
            load(module)
            try:
                change(module)
            except Exception:
                # Another release of it, or somebody else's module of this name: it stays as it is.
                pass

        spec.loader.exec_module = exec_module
        return spec
