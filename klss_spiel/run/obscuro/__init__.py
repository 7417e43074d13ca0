"""The experiments of the Obscuro paper: a module for each kind; `run.obscuro_tables` runs them."""
