"""``python -m service``: the same commands as ``persian-rummy``."""

from service.cli import main

if __name__ == "__main__":
    main(prog_name="python -m service")
