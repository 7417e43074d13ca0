"""Command-line binaries: flags, a frozen configuration, a pure run, rows."""
