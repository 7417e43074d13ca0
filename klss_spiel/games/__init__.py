"""Games registered in OpenSpiel on import."""
