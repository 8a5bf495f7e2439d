"""A second blind set, made like the first one."""
