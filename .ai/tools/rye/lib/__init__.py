"""What the tools of rye share. Each tool lists the modules that it needs in its signed header."""
