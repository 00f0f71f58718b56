"""The command `brokerbench nightly`: makes the runs of a plan, compares them with its reference, and checks gates."""
