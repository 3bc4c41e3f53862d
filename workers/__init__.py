"""The queue's side of Persian Rummy: bots, hints and their compiled search.

Workers may import ``service`` and play through its use cases, as any client does; the service
never imports this package.
"""

from service import __version__ as __version__
