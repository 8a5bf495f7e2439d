"""How PostgreSQL is reached, be it audited or the history's."""
