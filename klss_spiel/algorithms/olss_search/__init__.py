"""OLSS-II by sampling, for games whose infosets have too many histories to list."""
