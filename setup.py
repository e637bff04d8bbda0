"""What pyproject.toml cannot say: the package list under a folder mapping, and the commit."""

import importlib.util
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
CONTENT = ("benchmarks", "methods", "baselines", "leaderboard")


def write_commit(package):
    """Write the commit being built into a package; records name it as theirs."""
    if (package / "_build.py").exists():
        return  # built from a source distribution, which carries it already
    where = ROOT / "podium" / "build_info.py"
    spec = importlib.util.spec_from_file_location("podium_build_info", where)
    build_info = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_info)
    commit, dirty = build_info.build_commit(ROOT / "podium")
    text = f'"""Written by setup.py."""\n\nCOMMIT = {commit!r}\nDIRTY = {dirty!r}\n'
    (package / "_build.py").write_text(text, encoding="utf-8")


class BuildWithCommit(build_py):
    """Adds the commit to a wheel; an editable install asks its repository instead."""

    def run(self):
        """Build, then write the commit."""
        super().run()
        if not self.editable_mode:
            write_commit(Path(self.build_lib) / "podium")


class SourceWithCommit(sdist):
    """Adds the commit to a source distribution, which has no repository to ask."""

    def make_release_tree(self, base_dir, files):
        """Copy the sources, then write the commit."""
        super().make_release_tree(base_dir, files)
        write_commit(Path(base_dir) / "podium")


names = find_packages(include=["podium*", *(f"{top}*" for top in CONTENT)])
setup(
    packages=sorted({n if n.split(".")[0] == "podium" else f"podium.{n}" for n in names}),
    cmdclass={"build_py": BuildWithCommit, "sdist": SourceWithCommit},
)
