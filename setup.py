"""Pack the sample projects into the wheel; everything else is in pyproject.toml."""

from pathlib import Path
from shutil import copytree, ignore_patterns

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithSamples(build_py):
    """Copies ``projects/`` to ``studio/projects`` in what becomes the wheel."""

    def run(self) -> None:
        """Build the packages as usual, then add the samples."""
        super().run()
        if not self.editable_mode:
            source = Path(__file__).resolve().parent / "projects"
            target = Path(self.build_lib) / "studio" / "projects"
            ignored = ignore_patterns("*.runs", "__pycache__", "*.part")
            copytree(source, target, ignore=ignored, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithSamples})
