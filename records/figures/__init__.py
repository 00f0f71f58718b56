"""The figures of a run, by topic, and the rules that judge them: checks, conditions to abort, steps of a load."""
