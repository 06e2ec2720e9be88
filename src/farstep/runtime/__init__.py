"""The process: progress, cores, compiled programs, packages."""
