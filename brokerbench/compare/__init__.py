"""The command `brokerbench compare`: runs are made if asked for, then compared, and the answer is told."""
