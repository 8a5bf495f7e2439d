"""The data passed from one stage to the next: facts, profile, findings, earlier days."""
