"""What the engines that speak SQL share."""
