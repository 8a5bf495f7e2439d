"""What Amazon's services answer, and how they are asked."""
