"""The command `brokerbench compare`: makes runs if requested, compares them and reports the answer."""
