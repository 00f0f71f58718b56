"""The command `brokerbench nightly`: makes a plan's runs, compares candidates with the reference, and checks gates."""
