"""Run at each start of Python, by assay_hpvm.pth: it waits for a script of HPVM that needs more.

Such a script imports Keras or one of HPVM's modules; only then its text is read, and if it was
written for HPVM, assay provides what Keras 2 and HPVM had. All other programs stay as they are.
"""

import sys


class Waiting:
    """A finder that finds nothing, but sees which module is imported first."""

    names = frozenset({"keras", "tensorflow", "scipy", "Benchmark", "Config", "keras_frontend"})

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            sys.meta_path.remove(self)
            provide()
            for finder in sys.meta_path:
                if type(finder).__module__ == "assay.compat.hpvm.script":
                    return finder.find_spec(name, path, target)
        return None


def provide():
    import pathlib

    script = pathlib.Path(sys.argv[0] if sys.argv else "")
    if script.suffix != ".py" or not script.is_file():
        return
    text = script.read_bytes()
    if b"exportToHPVM" in text or b"keras_frontend" in text:
        from assay.compat.hpvm import script as scripts

        if scripts.is_for_hpvm(script):
            scripts.provide()


sys.meta_path.insert(0, Waiting())
