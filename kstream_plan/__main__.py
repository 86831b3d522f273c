"""``python -m kstream_plan``."""

from kstream_plan.cli import main

if __name__ == "__main__":
    main()
