"""What is passed from one stage to the next: the facts, the profile, the findings, the days before."""
