"""Where episodes come from and go: file formats, the shipped sets, and their summary."""
