"""What long-running work needs: atomic files, progress, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hstar.runtime.exports import lazy

if TYPE_CHECKING:
    from hstar.runtime.atomic import write_atomically as write_atomically
    from hstar.runtime.journal import digest_of as digest_of
    from hstar.runtime.progress import Progress as Progress
    from hstar.runtime.registry import Registry as Registry
    from hstar.runtime.registry import of_class as of_class
    from hstar.runtime.resources import Budget as Budget
    from hstar.runtime.resources import OutOfResources as OutOfResources

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
