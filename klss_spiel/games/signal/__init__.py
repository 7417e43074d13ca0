"""Small games of hidden signals: pennies and the papers' worked examples."""
