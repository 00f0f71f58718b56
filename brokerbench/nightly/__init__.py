"""The command `brokerbench nightly`: a plan's runs are made, compared with its reference, and judged by its gates."""
