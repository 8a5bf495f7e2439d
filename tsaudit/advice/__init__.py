"""What several rules read out of a profile, and the statements they propose, which are shown and never run."""
