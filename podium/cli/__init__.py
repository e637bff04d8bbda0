"""The command line."""

from __future__ import annotations


def main() -> None:
    """Run ``podium``; faults are shown as messages, and the exit code says which kind it was."""
    import sys

    from podium.cli.app import app
    from podium.errors import EXIT_RUN_FAILED, PodiumError

    try:
        app(standalone_mode=True)
    except PodiumError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (`podium list | head`): not a fault of ours.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_RUN_FAILED)
