"""What catalogs and names say of columns: their types, their roles, and the kind of table they make."""
