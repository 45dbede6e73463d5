"""``python -m laminar``, the same command as ``laminar``."""

from laminar.cli import main

if __name__ == "__main__":
    main()
