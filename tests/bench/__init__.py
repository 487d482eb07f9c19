"""How fast is it, as ratios to what the database itself can do in the same run."""
