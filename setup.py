"""The package list, which pyproject.toml cannot compute under a folder mapping."""

from setuptools import find_packages, setup

CONTENT = ("benchmarks", "methods", "baselines", "leaderboard")
names = find_packages(include=["podium*", *(f"{top}*" for top in CONTENT)])
setup(packages=sorted({n if n.split(".")[0] == "podium" else f"podium.{n}" for n in names}))
