"""What holds every body of a transition to the same contract: states, seeds, and one way to run a call on each body."""
