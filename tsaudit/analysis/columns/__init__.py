"""What catalogs and names show about columns: their types, their roles, and the kind of table that they form."""
