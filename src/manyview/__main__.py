"""``python -m manyview``: the command, where its script is not on the PATH."""

from manyview.cli import main

if __name__ == "__main__":
    main()
