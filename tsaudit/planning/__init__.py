"""From the changes of all findings to one plan for each measurement."""
